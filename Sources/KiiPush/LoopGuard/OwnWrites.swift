/// The writes that handlers have announced, each waiting for the one event that it will cause.
struct OwnWrites {
    /// How many writes wait at most; beyond, the oldest is given up, and its event is handled like any other.
    static let limit = 10_000
    /// How long after the end of its write an event is expected that does not tell the time of modification.
    static let grace = Duration.seconds(10)

    /// An event, as far as it can be told from another one.
    struct Event {
        /// What happened; nil for what no announced write can cause.
        let change: ObjectChange?
        let modifiedAt: Int64?
        let arrivedAt: MonotonicInstant
        /// Whether its sender is absent, or one that this device writes as.
        let mayBeOwn: Bool
    }

    struct Announcement {
        let number: UInt64
        let change: ObjectChange
        /// When it was announced: what had arrived before is not its event.
        let since: MonotonicInstant
        let end: MonotonicInstant
        /// When its event must have arrived, if that does not tell the time of modification; known when it is done.
        var graceEnd: MonotonicInstant?
        /// When the object was modified, once the server has said so.
        var modifiedAt: Int64?
        /// The object has changed since, so that only the event of the very time can be its own.
        var isOvertaken = false
        /// The time of an event that was taken for its own while its own time was not known.
        var takenAt: Int64?

        /// Whether an event of its kind may be its own, where the times do not say.
        func mayBe(_ event: Event) -> Bool {
            if let modifiedAt, let time = event.modifiedAt, modifiedAt != time { return false }
            return !isOvertaken && takenAt == nil && graceEnd.map { event.arrivedAt < $0 } ?? true
        }

        /// Learns that the write was made; whether its event has come already.
        mutating func complete(_ modifiedAt: Int64?, _ graceEnd: MonotonicInstant) -> Bool {
            self.graceEnd = graceEnd
            self.modifiedAt = modifiedAt ?? self.modifiedAt
            guard let takenAt else { return false }
            // What was taken for its event may have been somebody else's: its own is then still to come.
            self.takenAt = nil
            isOvertaken = true
            return modifiedAt == nil || modifiedAt == takenAt
        }
    }

    private var waiting: [ResourceKey: [Announcement]] = [:]
    /// Every announcement in the order in which they end, with those that have ended by their event or by failing.
    private var order = ChunkedQueue<(key: ResourceKey, number: UInt64, end: MonotonicInstant)>()
    private var lastNumber: UInt64 = 0
    private(set) var count = 0
    /// How many were given up for want of room.
    private(set) var givenUp = 0

    var isIdle: Bool { count == 0 }

    /// Announces a write; returns the announcement's number.
    mutating func announce(
        _ key: ResourceKey, _ change: ObjectChange, since: MonotonicInstant, until end: MonotonicInstant,
        now: MonotonicInstant
    ) -> UInt64 {
        forgetOld(now)
        lastNumber += 1
        waiting[key, default: []].append(
            Announcement(number: lastNumber, change: change, since: since, end: end))
        order.append((key, lastNumber, end))
        count += 1
        if order.count > Self.limit, let oldest = order.popFirst(), remove(oldest.number, of: oldest.key) {
            givenUp += 1
        }
        return lastNumber
    }

    /// Learns that an announced write was made, and when the object was modified, if the server has said so; whether
    /// its event is still to come.
    @discardableResult
    mutating func complete(_ number: UInt64, of key: ResourceKey, modifiedAt: Int64?, now: MonotonicInstant) -> Bool {
        guard let index = waiting[key]?.firstIndex(where: { $0.number == number }) else { return false }
        let graceEnd = now.advanced(by: Self.grace)
        let isEnded = waiting[key]?[index].complete(modifiedAt, graceEnd) ?? false
        if isEnded { remove(number, of: key) }
        return !isEnded
    }

    /// Takes an announcement back; whether it was still waiting.
    @discardableResult
    mutating func remove(_ number: UInt64, of key: ResourceKey) -> Bool {
        guard let index = waiting[key]?.firstIndex(where: { $0.number == number }) else { return false }
        waiting[key]?.remove(at: index)
        if waiting[key]?.isEmpty == true { waiting[key] = nil }
        count -= 1
        return true
    }

    /// Takes the announcement whose event this is; whether there was one.
    ///
    /// One with the very time of the event is the one, else the oldest that it may be. Those that the event shows to be
    /// overtaken are marked, whoever caused it.
    mutating func take(_ key: ResourceKey, _ event: Event, now: MonotonicInstant) -> Bool {
        forgetOld(now)
        guard let announcements = waiting[key] else { return false }
        let candidates = announcements.filter { announcement in
            event.mayBeOwn && announcement.change == event.change && announcement.end > now
                && announcement.since <= event.arrivedAt
        }
        let exact = candidates.first { $0.modifiedAt != nil && $0.modifiedAt == event.modifiedAt && $0.takenAt == nil }
        let match = exact ?? candidates.first { $0.mayBe(event) }
        if let time = event.modifiedAt { markOvertaken(key, by: time) }
        guard let match else { return false }
        if match.graceEnd == nil, let time = event.modifiedAt {
            // The write goes on: when it is done, its time shows whether this was its event.
            for index in waiting[key]?.indices ?? 0..<0 where waiting[key]?[index].number == match.number {
                waiting[key]?[index].takenAt = time
            }
            return true
        }
        return remove(match.number, of: key)
    }

    private mutating func markOvertaken(_ key: ResourceKey, by time: Int64) {
        for index in waiting[key]?.indices ?? 0..<0 {
            if let own = waiting[key]?[index].modifiedAt, own < time { waiting[key]?[index].isOvertaken = true }
        }
    }

    /// Forgets up to two whose time is over: more than can come in meanwhile, so none stays for long.
    private mutating func forgetOld(_ now: MonotonicInstant) {
        for _ in 0..<2 {
            guard let first = order.first, first.end <= now || !isWaiting(first.number, first.key) else { return }
            _ = order.popFirst()
            remove(first.number, of: first.key)
        }
    }

    private func isWaiting(_ number: UInt64, _ key: ResourceKey) -> Bool {
        waiting[key]?.contains { $0.number == number } ?? false
    }
}
