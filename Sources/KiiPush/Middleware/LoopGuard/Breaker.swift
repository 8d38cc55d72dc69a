/// The breaker of one key: counts what passes, and once that is too much holds what comes until a probe finds it quiet.
///
/// ```
///          too many               cool-down over, the oldest goes alone
/// closed ────────────▶ open ──────────────────────────────────────────▶ probing
///    ▲                  ▲  the probe brought more: cool-down doubled         │
///    │ nothing held     └───────────────────────────────┬─────────────────── │ it ended
///    └───────────── draining ◀── it brought none in `per` ─ quiet ◀──────────┘
/// ```
///
/// What comes while nothing is handled was not caused here. So the messages of the middle of the cool-down, when those
/// that were still on their way have come and nobody else probes yet, say how many come anyway; a probe has brought
/// more only when there are over twice as many after it. Else an object that honestly changes each second, held once
/// after a burst, would never be handled again. What a transport delivers again counts neither here nor there.
struct Breaker {
    enum Phase: Equatable {
        case closed
        case open(until: Int64)
        /// One message runs alone; `seen` have come meanwhile.
        case probing(seen: Int)
        /// The probe has ended; more messages than come anyway before `until` show that the loop goes on.
        case quiet(until: Int64, seen: Int)
        /// What was held follows in order; `isBusy` while one of it runs.
        case draining(isBusy: Bool)
    }

    /// How many messages a breaker counts, in nanoseconds.
    struct Limit {
        let messages: Int
        let span: Int64
        let per: Int64
        let coolDown: Int64

        fileprivate init(_ rate: LoopRate, isWide: Bool) {
            messages = isWide ? rate.wideMessages : rate.messages
            span = (isWide ? rate.widePer : rate.per).inNanoseconds
            per = rate.per.inNanoseconds
            coolDown = rate.coolDown.inNanoseconds
        }
    }

    /// The limits of a rate's two breakers; made once, since a `Duration` is divided to be one number.
    struct Limits {
        let narrow: Limit
        let wide: Limit

        init(_ rate: LoopRate) {
            narrow = Limit(rate, isWide: false)
            wide = Limit(rate, isWide: true)
        }
    }

    let key: PlaceKey
    private(set) var phase = Phase.closed
    private(set) var held: [HeldMessage] = []
    /// Places that were promised to messages which are about to be held.
    private(set) var promised = 0
    private var passes = PassWindow()
    private var limit: Limit
    /// For how long it is open, or was the last time.
    private(set) var coolDown: Int64
    private var closedAt: Int64 = .min
    private var openedAt: Int64 = .min
    /// How many came in the middle half of the cool-down.
    private var cameAnyway = 0
    /// The age from which on they are counted; 0 where the breaker opened in this process.
    private var countedFrom: Int64 = 0

    init(_ key: PlaceKey, _ limit: Limit) {
        self.key = key
        self.limit = limit
        coolDown = limit.coolDown
    }

    /// A breaker that opened in an earlier process.
    ///
    /// Of what comes at once, nobody knows whether it comes anyway or an inbox brings it again.
    init(_ key: PlaceKey, _ limit: Limit, openUntil end: Int64, coolDown: Int64, _ now: Int64) {
        self.init(key, limit)
        self.coolDown = coolDown
        openedAt = end.since(coolDown)
        phase = .open(until: end)
        countedFrom =
            MonotonicInstant(nanoseconds: max(now.since(openedAt), 0)).advanced(byNanoseconds: limit.per).nanoseconds
    }

    /// What a breaker says about a message that comes.
    enum Answer {
        case pass
        /// It may pass, alone: the cool-down is over, and nothing older is held.
        case passAsProbe
        case hold
    }

    /// Counts a message that passes a closed breaker, as nearly each does; else does nothing, and it is to be judged.
    @inline(__always)
    mutating func pass(_ now: Int64, _ limit: Limit) -> Bool {
        guard case .closed = phase, passes.count(limit.span, now) < limit.messages else { return false }
        self.limit = limit
        passes.add(now, limit.span, limit: limit.messages)
        return true
    }

    /// Judges a message that comes; counting it, if it passes, is left to ``count(_:)``.
    mutating func judge(_ now: Int64, _ limit: Limit, isNew: Bool = true) -> Answer {
        self.limit = limit
        if case .quiet(let end, _) = phase, end <= now { close(now) }
        switch phase {
        case .closed:
            if passes.count(limit.span, now) < limit.messages { return .pass }
            open(now)
            return .hold
        case .open(let end):
            if isNew && isMiddle(now) { cameAnyway += 1 }
            return end <= now && held.isEmpty && promised == 0 ? .passAsProbe : .hold
        case .probing(let seen):
            phase = .probing(seen: isNew ? seen + 1 : seen)
            return .hold
        case .quiet(let end, let seen) where isNew:
            if isMore(seen + 1) { open(now) } else { phase = .quiet(until: end, seen: seen + 1) }
            return .hold
        case .quiet: return .hold
        case .draining:
            // It queues behind what is held, and counts as passed: a loop that outlives the probe opens it again.
            if passes.count(limit.span, now) >= limit.messages { open(now) } else { count(now) }
            return .hold
        }
    }

    /// Counts a message that passes, or lets it be the probe.
    mutating func count(_ now: Int64) {
        if case .open = phase { phase = .probing(seen: 0) }
        passes.add(now, limit.span, limit: limit.messages)
    }

    /// Takes back a message that passed and was not handled.
    mutating func takeBack() { passes.takeBack() }

    /// Opens; with twice the cool-down if it was open a moment ago, for then the loop goes on.
    ///
    /// With the same one where too little is known of what comes anyway, since the process began late in the cool-down: an
    /// honest stream looks like a loop then, and of twice as many held messages some would lose their places.
    private mutating func open(_ now: Int64) {
        let wasOpen = phase != .closed || (closedAt != .min && now.since(closedAt) < coolDown)
        let doubled = min(coolDown.multipliedReportingOverflow(by: 2).partialValue, Self.longestCoolDown)
        coolDown = wasOpen ? max(isMeasured ? doubled : coolDown, limit.coolDown) : limit.coolDown
        openedAt = now
        (cameAnyway, countedFrom) = (0, 0)
        phase = .open(until: MonotonicInstant(nanoseconds: now).advanced(byNanoseconds: coolDown).nanoseconds)
    }

    private func isMiddle(_ now: Int64) -> Bool {
        let age = now.since(openedAt)
        return age >= max(coolDown / 4, countedFrom) && age <= coolDown / 4 * 3
    }

    /// For how long it was counted what comes anyway.
    private var countedSpan: Int64 {
        countedFrom <= coolDown / 4 ? coolDown / 2 : max(coolDown / 4 * 3 - countedFrom, 0)
    }

    /// Whether that was long enough to tell an honest stream.
    private var isMeasured: Bool { countedSpan >= min(limit.per, coolDown / 2) }

    /// Whether so many messages since the probe are over twice as many as come anyway.
    private func isMore(_ seen: Int) -> Bool {
        let span = countedSpan
        guard span > 0, isMeasured else { return seen > 0 }
        return Double(seen) > 2 * Double(cameAnyway) * Double(limit.per) / Double(span)
    }

    private static let longestCoolDown = LoopRate.longestCoolDown.inNanoseconds

    /// Ends the quiet time: what is held follows, or all is as before.
    private mutating func close(_ now: Int64) {
        closedAt = now
        phase = held.isEmpty && promised == 0 ? .closed : .draining(isBusy: false)
    }

    // MARK: Held messages

    /// Promises a place, if there is one left.
    mutating func promise(upTo most: Int) -> Bool {
        guard held.count + promised < most else { return false }
        promised += 1
        return true
    }

    /// Puts a message into its promised place.
    mutating func hold(_ message: HeldMessage, _ now: Int64) {
        promised -= 1
        held.append(message)
        // Everything before it may have been released meanwhile; then it is due at once.
        if phase == .closed { phase = .draining(isBusy: false) }
    }

    /// Takes out the held messages that a condition holds for.
    mutating func removeHeld(where condition: (HeldMessage) -> Bool) -> [HeldMessage] {
        let removed = held.filter(condition)
        if !removed.isEmpty { held.removeAll(where: condition) }
        return removed
    }

    /// When there is something to do; nil when nothing is, or one message of it runs.
    var due: Int64? {
        switch phase {
        case .closed, .probing, .draining(isBusy: true): nil
        case .open(let end): held.isEmpty ? nil : end
        case .quiet(let end, _): end
        case .draining(isBusy: false): .min
        }
    }

    /// The message whose turn it is, oldest first; nil when none is due.
    mutating func takeDue(_ now: Int64) -> HeldMessage? {
        if case .quiet(let end, _) = phase, end <= now { close(now) }
        if case .draining(isBusy: false) = phase, held.isEmpty, promised == 0 { phase = .closed }
        switch phase {
        case .open(let end) where end <= now && !held.isEmpty: phase = .probing(seen: 0)
        case .draining(isBusy: false) where !held.isEmpty: phase = .draining(isBusy: true)
        default: return nil
        }
        return held.removeFirst()
    }

    /// Learns that the message whose turn it was has ended.
    mutating func turnEnded(_ now: Int64) {
        switch phase {
        case .probing(let seen) where isMore(seen): open(now)
        case .probing(let seen):
            let end = MonotonicInstant(nanoseconds: now).advanced(byNanoseconds: limit.per).nanoseconds
            phase = .quiet(until: end, seen: seen)
        case .draining: phase = held.isEmpty && promised == 0 ? .closed : .draining(isBusy: false)
        case .closed, .open, .quiet: break
        }
    }

    /// Whether it can be forgotten: nothing is held, and nothing still counts.
    mutating func isIdle(_ now: Int64) -> Bool {
        guard held.isEmpty, promised == 0 else { return false }
        // A growing cool-down is remembered for as long as it was, also where no message came to be the probe.
        switch phase {
        case .closed: if closedAt != .min, now.since(closedAt) < coolDown { return false }
        case .open(let end), .quiet(let end, _): if now.since(end) < coolDown { return false }
        case .draining(isBusy: false): break
        case .probing, .draining(isBusy: true): return false
        }
        return passes.count(limit.span, now) == 0
    }

    /// Whether it can be forgotten when there is no more room.
    var isExpendable: Bool { phase == .closed && promised == 0 }
}
