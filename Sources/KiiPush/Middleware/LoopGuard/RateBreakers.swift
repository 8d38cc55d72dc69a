/// All breakers of a guard, narrow and wide, and the messages that they hold.
struct RateBreakers {
    /// How many keys are counted at once: objects or senders, and buckets or topics.
    ///
    /// Beyond, one that is closed is forgotten before its time; its bucket still counts.
    static let mostNarrow = 16_384
    static let mostWide = 4096
    /// How many messages are held at most, for one key and in all, and how many bytes their payloads have.
    static let mostHeldPerKey = 100
    static let mostHeld = 1000
    static let mostHeldBytes = 8 << 20

    /// One breaker, by its key.
    struct ID: Sendable, Hashable {
        let isWide: Bool
        let key: PlaceKey
    }

    /// What the breakers say about a message and a route.
    enum Answer {
        case pass
        /// It passes as the probe of these.
        case passAsProbe(of: [ID])
        case hold(ID)
    }

    private var narrow = BreakerTable(capacity: mostNarrow)
    private var wide = BreakerTable(capacity: mostWide, isWide: true)
    private var heldCount = 0
    private var heldBytes = 0

    /// How many keys were forgotten while they still counted.
    var forgottenEarly: Int { narrow.forgottenEarly + wide.forgottenEarly }

    // MARK: What a store is told

    /// Whether a store is to be told something that was not tried yet.
    var hasChanges: Bool { narrow.changes.isNew || wide.changes.isNew }

    /// Whether a store is to be told anything.
    var hasWaitingChanges: Bool { narrow.changes.isWaiting || wide.changes.isWaiting }

    /// Takes out what a store is to be told.
    mutating func takeChanges() -> BreakerChanges.Batch {
        var batch = narrow.changes.take()
        let other = wide.changes.take()
        batch.opened += other.opened
        batch.closed += other.closed
        return batch
    }

    /// Learns whether what was taken is in the store.
    mutating func changesEnded(isWritten: Bool) {
        narrow.changes.ended(isWritten: isWritten)
        wide.changes.ended(isWritten: isWritten)
    }

    /// Leaves what a store is to be told for a later try.
    mutating func postponeChanges() {
        narrow.changes.postpone()
        wide.changes.postpone()
    }

    /// Goes on with the breakers of an earlier process: open for as long as they still were, but for no longer than their
    /// cool-down, nor than `rate` would ever have them.
    mutating func restore(_ breakers: [TrippedBreaker], _ rate: LoopRate, _ now: Int64) {
        let longest = max(LoopRate.longestCoolDown, rate.coolDown).inNanoseconds
        let limits = Breaker.Limits(rate)
        for isWide in [false, true] {
            let own = breakers.filter { $0.key.isWide == isWide }
            let restored = own.map { tripped in
                let coolDown = min(max(tripped.coolDown.inNanoseconds, 0), longest)
                let latest = MonotonicInstant(nanoseconds: now).advanced(byNanoseconds: coolDown)
                return Breaker(
                    PlaceKey(digest: tripped.key.digest), isWide ? limits.wide : limits.narrow,
                    openUntil: min(tripped.until, latest).nanoseconds, coolDown: coolDown, now)
            }
            if isWide { wide.restore(restored, now) } else { narrow.restore(restored, now) }
        }
    }

    // MARK: Judging

    /// Judges a message for a route, and counts it if it passes; `isNew` unless its transport says that it delivers it
    /// again.
    mutating func judge(_ keys: RateKeys, _ limits: Breaker.Limits, _ now: Int64, isNew: Bool) -> Answer {
        let narrowPlace = narrow.place(of: keys.narrow, limits.narrow, now)
        let first = narrowPlace.map { narrow.judge($0, limits.narrow, now, isNew: isNew) } ?? .pass
        if first == .hold { return .hold(ID(isWide: false, key: keys.narrow)) }
        let widePlace = keys.wide.flatMap { wide.place(of: $0, limits.wide, now) }
        let second = widePlace.map { wide.judge($0, limits.wide, now, isNew: isNew) } ?? .pass
        if first == .pass, second == .pass { return .pass }

        if second == .hold, let key = keys.wide {
            if first == .pass, let place = narrowPlace { narrow.use(place) { $0.takeBack() } }
            return .hold(ID(isWide: true, key: key))
        }
        var probed: [ID] = []
        if first == .passAsProbe, let place = narrowPlace {
            narrow.use(place) { $0.count(now, limits.narrow) }
            probed.append(ID(isWide: false, key: keys.narrow))
        }
        if second == .passAsProbe, let place = widePlace, let key = keys.wide {
            wide.use(place) { $0.count(now, limits.wide) }
            probed.append(ID(isWide: true, key: key))
        }
        return .passAsProbe(of: probed)
    }

    /// Takes back a message that passed and was not handled.
    mutating func takeBack(_ keys: RateKeys) {
        if let place = narrow.find(keys.narrow) { narrow.use(place) { $0.takeBack() } }
        if let key = keys.wide, let place = wide.find(key) { wide.use(place) { $0.takeBack() } }
    }

    // MARK: Holding

    /// Promises a held message its place; false when there is none left.
    mutating func promise(_ id: ID, bytes: Int) -> Bool {
        guard heldCount < Self.mostHeld, heldBytes + bytes <= Self.mostHeldBytes else { return false }
        guard use(id, { $0.promise(upTo: Self.mostHeldPerKey) }) == true else { return false }
        heldCount += 1
        heldBytes += bytes
        return true
    }

    private mutating func forget(_ messages: [HeldMessage]) {
        heldCount -= messages.count
        for message in messages { heldBytes -= message.bytes }
    }

    /// Puts a message into its promised place.
    mutating func hold(_ message: HeldMessage, _ id: ID, _ now: Int64) {
        use(id) { $0.hold(message, now) }
    }

    /// The messages that wait, oldest first.
    var held: [HeldMessage] {
        (narrow.trippedBreakers + wide.trippedBreakers).flatMap(\.held).sorted { $0.id < $1.id }
    }

    /// Takes out the waiting messages that a condition holds for, oldest first.
    mutating func removeHeld(where condition: (HeldMessage) -> Bool) -> [HeldMessage] {
        var removed: [HeldMessage] = []
        for id in tripped { removed += use(id) { $0.removeHeld(where: condition) } ?? [] }
        forget(removed)
        return removed.sorted { $0.id < $1.id }
    }

    /// The message whose turn it is by now, and the breaker that gives it its turn.
    mutating func takeDue(_ now: Int64) -> (message: HeldMessage, breaker: ID)? {
        for id in tripped {
            guard let message = use(id, { $0.takeDue(now) }) ?? nil else { continue }
            forget([message])
            return (message, id)
        }
        return nil
    }

    /// When there is something to do next.
    var nextDue: Int64? {
        (narrow.trippedBreakers + wide.trippedBreakers).compactMap(\.due).min()
    }

    /// Learns that a message that had its turn, or was a probe, has ended.
    mutating func turnEnded(_ id: ID, _ now: Int64) { use(id) { $0.turnEnded(now) } }

    // MARK: Which breaker

    /// Those that are not closed.
    private var tripped: [ID] {
        narrow.trippedBreakers.map { ID(isWide: false, key: $0.key) }
            + wide.trippedBreakers.map { ID(isWide: true, key: $0.key) }
    }

    @discardableResult
    private mutating func use<Result>(_ id: ID, _ body: (inout Breaker) -> Result) -> Result? {
        if id.isWide {
            guard let place = wide.find(id.key) else { return nil }
            return wide.use(place, body)
        }
        guard let place = narrow.find(id.key) else { return nil }
        return narrow.use(place, body)
    }
}
