/// The expected writes that handlers have declared, each waiting for its one event.
struct OwnWrites {
    /// How many writes wait at most; beyond that, the oldest is given up, and its event is handled like any other.
    static let limit = 10_000
    /// How long after the end of a write its event is expected, if the event has no time of modification.
    static let grace = Duration.seconds(10)
    /// How long an event that has arrived in time may wait for its handler.
    static let kept = Duration.seconds(Pace.hour)

    /// The parts of an event that distinguish it from others.
    struct Event {
        /// The change; nil for one that no declared write can cause.
        let change: ObjectChange?
        let modifiedAt: Int64?
        let arrivedAt: MonotonicInstant
        let author: Author
    }

    /// Who caused an event, as far as its sender says.
    enum Author {
        /// It names no sender, or an identity that this device writes as.
        case own
        /// It names a sender, and this device has no identities to compare it with.
        case unknown
        /// It names a sender that this device does not write as, as far as its identities say.
        case stranger
    }

    /// An expected write.
    private struct Announcement {
        let number: UInt64
        let change: ObjectChange
        /// When it was declared; its event cannot have arrived before.
        let since: MonotonicInstant
        let end: MonotonicInstant
        /// When its event must have arrived, if the event has no time of modification; set when the write is done.
        var graceEnd: MonotonicInstant?
        /// When the object was modified, if the server reported it.
        var modifiedAt: Int64?
        /// Whether the object has changed since, so that only an event with exactly this time can be its own.
        var isOvertaken = false
        /// The time of an event that was taken for its own before its own time was known.
        var takenAt: Int64?

        /// Whether an event has exactly its time of modification, which proves it, whoever the event names.
        func isExactly(_ event: Event) -> Bool { modifiedAt != nil && modifiedAt == event.modifiedAt && takenAt == nil }

        /// Whether an event of its kind may be its own, if the times do not decide.
        func mayBe(_ event: Event) -> Bool {
            if let modifiedAt, let time = event.modifiedAt, modifiedAt != time { return false }
            switch event.author {
            case .own: break
            // Before it is done, and where its time is known, an unknown sender's event is more likely another one's.
            case .unknown: guard graceEnd != nil, modifiedAt == nil else { return false }
            case .stranger: return false
            }
            return !isOvertaken && takenAt == nil && graceEnd.map { event.arrivedAt < $0 } ?? true
        }

        /// Records that the write was made; returns whether its event has arrived already.
        mutating func complete(_ modifiedAt: Int64?, _ graceEnd: MonotonicInstant) -> Bool {
            self.graceEnd = graceEnd
            self.modifiedAt = modifiedAt ?? self.modifiedAt
            guard let takenAt else { return false }
            // That event may have been another device's; then its own is still expected.
            self.takenAt = nil
            isOvertaken = true
            return modifiedAt == nil || modifiedAt == takenAt
        }
    }

    private var waiting: [ResourceKey: [Announcement]] = [:]
    /// All expected writes in the order of their declaration, including those whose event arrived or that failed.
    private var order = ShortQueue<(key: ResourceKey, number: UInt64, end: MonotonicInstant)>()
    private var lastNumber: UInt64 = 0
    private var count = 0

    var isIdle: Bool { count == 0 }

    /// Adds an expected write; returns its number.
    mutating func announce(
        _ key: ResourceKey, _ change: ObjectChange, since: MonotonicInstant, until end: MonotonicInstant,
        now: MonotonicInstant
    ) -> UInt64 {
        forgetOld(now)
        lastNumber += 1
        waiting[key, default: []].append(Announcement(number: lastNumber, change: change, since: since, end: end))
        order.append((key, lastNumber, end))
        count += 1
        while count > Self.limit, let oldest = order.popFirst() { remove(oldest.number, of: oldest.key) }
        // Behind a write that waits for long, those that have ended since.
        if order.count > 2 * Self.limit {
            let waiting = waiting
            _ = order.removeAll { write in Self.index(of: write.number, in: waiting[write.key]) == nil }
        }
        return lastNumber
    }

    /// Records that an expected write was made, with the time of modification if the server reported it.
    mutating func complete(_ number: UInt64, of key: ResourceKey, modifiedAt: Int64?, now: MonotonicInstant) {
        guard let index = Self.index(of: number, in: waiting[key]) else { return }
        let hasEnded = waiting[key]?[index].complete(modifiedAt, now.advanced(by: Self.grace)) ?? false
        if hasEnded { remove(number, of: key) }
    }

    /// Removes an expected write, if it is still waiting.
    mutating func remove(_ number: UInt64, of key: ResourceKey) {
        guard let index = Self.index(of: number, in: waiting[key]) else { return }
        waiting[key]?.remove(at: index)
        if waiting[key]?.isEmpty == true { waiting[key] = nil }
        count -= 1
    }

    /// Removes the expected write that caused an event; returns whether there is one.
    ///
    /// It is the write with exactly the event's time, else the oldest possible one. Writes that the event shows to be
    /// overtaken are marked, whoever caused it.
    mutating func take(_ key: ResourceKey, _ event: Event) -> Bool {
        guard var writes = waiting[key] else { return false }
        let match = Self.match(writes, event)
        if let time = event.modifiedAt {
            for index in writes.indices where writes[index].modifiedAt ?? .max < time {
                writes[index].isOvertaken = true
            }
            // If the write is not done yet, its time will show whether this was its event.
            if let match, writes[match].graceEnd == nil { writes[match].takenAt = time }
        }
        waiting[key] = writes
        guard let match else { return false }
        if writes[match].takenAt == nil { remove(writes[match].number, of: key) }
        return true
    }

    /// The index of the write that caused an event.
    private static func match(_ writes: [Announcement], _ event: Event) -> Int? {
        let candidates = writes.indices.filter {
            writes[$0].change == event.change && writes[$0].end > event.arrivedAt && writes[$0].since <= event.arrivedAt
        }
        return candidates.first { writes[$0].isExactly(event) } ?? candidates.first { writes[$0].mayBe(event) }
    }

    /// Forgets up to two expired writes: more than are added, so that they do not pile up.
    private mutating func forgetOld(_ now: MonotonicInstant) {
        for _ in 0..<2 {
            guard let first = order.first,
                first.end.advanced(by: Self.kept) <= now || Self.index(of: first.number, in: waiting[first.key]) == nil
            else { return }
            _ = order.popFirst()
            remove(first.number, of: first.key)
        }
    }

    private static func index(of number: UInt64, in writes: [Announcement]?) -> Int? {
        writes?.firstIndex { $0.number == number }
    }
}
