// One letter that stands for many messages of one key.

extension DeadLetter {
    /// What letters have in common that share a part of a store: 128 bits, the same in every process.
    public struct Key: Sendable, Hashable {
        /// The first half of its bits; stores write it down.
        public let first: UInt64
        /// The second half of its bits.
        public let second: UInt64

        /// Makes a key from its bits, as a store reads them back.
        public init(first: UInt64, second: UInt64) {
            self.first = first
            self.second = second
        }
    }

    /// What a letter tells of the messages that it stands for.
    ///
    /// The payload, the routes, the time and the attempts of the letter are those of the newest of them, which is also the
    /// one that a replay handles. The payloads of the others are gone.
    public struct Summary: Sendable, Hashable {
        /// How many messages the letter stands for, the one whose payload it has included.
        public var count: Int
        /// When the first of them arrived, on the receiver's clock; the last one arrived at the letter's
        /// ``DeadLetter/arrivedAt``.
        public var firstArrivedAt: MonotonicInstant
        /// When the first of them arrived, by the wall clock, as the letter's ``DeadLetter/receivedAt``.
        public var firstReceivedAt: Int64?
        /// How many bytes the payloads had that are gone.
        public var bytesLost: Int

        /// Makes a summary; for stores.
        public init(count: Int, firstArrivedAt: MonotonicInstant, firstReceivedAt: Int64? = nil, bytesLost: Int) {
            self.count = count
            self.firstArrivedAt = firstArrivedAt
            self.firstReceivedAt = firstReceivedAt
            self.bytesLost = bytesLost
        }
    }

    /// How many messages the letter stands for.
    public var count: Int { summary?.count ?? 1 }

    /// Lets it stand for another letter's messages too.
    ///
    /// - Parameters:
    ///   - newer: the other letter.
    ///   - replacesPayload: whether its payload is the one that is kept.
    package mutating func fold(_ newer: DeadLetter, replacesPayload: Bool) {
        let lost = replacesPayload ? payload.bytes.count : newer.payload.bytes.count
        var summary =
            summary ?? Summary(count: 1, firstArrivedAt: arrivedAt, firstReceivedAt: receivedAt, bytesLost: 0)
        summary.count += newer.count
        summary.bytesLost += lost + (newer.summary?.bytesLost ?? 0)
        var folded = replacesPayload ? newer : self
        (folded.id, folded.keys, folded.inboxID) = (id, keys, nil)
        folded.summary = summary
        self = folded
    }
}

extension DeadLetter.Key {
    /// The keys of a message's letter: of its route, its bucket, topic or sender and the reason; and without the place.
    static func keys(_ message: PushMessage, _ reason: DeadLetter.Reason, _ route: String?) -> [DeadLetter.Key] {
        let wide = digest(reason, route ?? "")
        var narrow = wide
        if let group = ResourceKey(groupOf: message) {
            narrow.add(group.digest.first)
            narrow.add(group.digest.second)
        }
        return [narrow, wide].map { DeadLetter.Key($0.finish()) }
    }

    /// The keys of the letter of a payload that is no message: that of its transport, and that of all.
    package static func keys(undecodable payload: RawPayload) -> [DeadLetter.Key] {
        [payload.transport?.name ?? "", ""].map { DeadLetter.Key(digest(.undecodable, $0).finish()) }
    }

    private static func digest(_ reason: DeadLetter.Reason, _ text: String) -> KeyedDigest {
        var digest = KeyedDigest(.published)
        for (meaning, part) in [(UInt8(1), reason.rawValue), (2, text)] {
            digest.add(meaning, part.utf8.span, 0..<part.utf8.count)
        }
        return digest
    }

    private init(_ digest: DedupeKey) { self.init(first: digest.first, second: digest.second) }
}
