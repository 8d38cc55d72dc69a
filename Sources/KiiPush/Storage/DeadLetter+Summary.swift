extension DeadLetter {
    /// The messages that a dead letter represents; all else that it says is of the newest one, which a replay handles.
    public struct Summary: Sendable, Hashable {
        /// How many messages the dead letter represents, including the one whose payload it has.
        public var count: Int
        /// When the first message arrived, on the receiver's clock; the last one arrived at ``DeadLetter/arrivedAt``.
        public var firstArrivedAt: MonotonicInstant
        /// When the first message arrived, by the wall clock, like ``DeadLetter/receivedAt``.
        public var firstReceivedAt: Int64?
        /// The size of the payloads that were not kept, in bytes.
        public var bytesLost: Int

        /// Makes a summary; for stores.
        public init(count: Int, firstArrivedAt: MonotonicInstant, firstReceivedAt: Int64? = nil, bytesLost: Int) {
            self.count = count
            self.firstArrivedAt = firstArrivedAt
            self.firstReceivedAt = firstReceivedAt
            self.bytesLost = bytesLost
        }
    }

    /// How many messages the dead letter represents.
    public var count: Int { summary?.count ?? 1 }

    /// Makes it represent the messages of another dead letter too, whose payload is kept if it replaces this one's.
    package mutating func fold(_ newer: DeadLetter, replacesPayload: Bool) {
        let lost = replacesPayload ? payload.bytes.count : newer.payload.bytes.count
        var summary = summary ?? Summary(count: 1, firstArrivedAt: arrivedAt, firstReceivedAt: receivedAt, bytesLost: 0)
        summary.count += newer.count
        summary.bytesLost += lost + (newer.summary?.bytesLost ?? 0)
        var folded = replacesPayload ? newer : self
        (folded.id, folded.keys, folded.inboxID) = (id, keys, nil)
        folded.summary = summary
        self = folded
    }
}

extension DeadLetter {
    /// The keys of a message's dead letter: one of its route, its bucket, topic or sender, and the reason; and one of
    /// the route and the reason.
    static func keys(_ message: PushMessage, _ reason: Reason, _ route: String?) -> [DedupeKey] {
        let wide = digest(reason, route ?? "")
        var narrow = wide
        if let group = ResourceKey(groupOf: message) {
            narrow.add(group.digest.first)
            narrow.add(group.digest.second)
        } else {
            narrow.add(Self.noGroup)
        }
        return [narrow.finish(), wide.finish()]
    }

    /// The keys of the dead letter of an undecodable payload: one of its transport, and one for all.
    package static func keys(undecodable payload: RawPayload) -> [DedupeKey] {
        let wide = digest(.undecodable, "")
        var narrow = payload.transport.map { digest(.undecodable, $0.name) } ?? wide
        if payload.transport == nil { narrow.add(noGroup) }
        return [narrow.finish(), wide.finish()]
    }

    /// What takes the place of a missing group: two equal keys would count each dead letter twice.
    private static var noGroup: UInt64 { 0 }

    private static func digest(_ reason: Reason, _ text: String) -> KeyedDigest {
        var digest = KeyedDigest(.published)
        for (meaning, part) in [(UInt8(1), reason.rawValue), (2, text)] {
            digest.add(meaning, part.utf8.span, 0..<part.utf8.count)
        }
        return digest
    }
}
