/// What a breaker knows since it opened for the first time: its phase, what it holds, and how long it stays open.
struct BreakerTrip {
    private(set) var phase = Breaker.Phase.closed
    private(set) var held: [HeldMessage] = []
    /// Places that were promised to messages which are about to be held.
    private var promised = 0
    private var limit: Breaker.Limit
    /// For how long it is open, or was the last time.
    private(set) var coolDown: Int64
    private var closedAt: Int64 = .min
    private var openedAt: Int64 = .min
    /// How many came in the middle half of the cool-down.
    private var cameAnyway = 0
    /// The age from which on they are counted; 0 where the breaker opened in this process.
    private var countedFrom: Int64 = 0

    init(_ limit: Breaker.Limit) {
        self.limit = limit
        coolDown = limit.coolDown
    }

    /// That of a breaker which opened in an earlier process.
    ///
    /// Of what comes at once, nobody knows whether it comes anyway or an inbox brings it again.
    init(_ limit: Breaker.Limit, openUntil end: Int64, coolDown: Int64, _ now: Int64) {
        self.init(limit)
        self.coolDown = coolDown
        openedAt = end.since(coolDown)
        phase = .open(until: end)
        countedFrom =
            MonotonicInstant(nanoseconds: max(now.since(openedAt), 0)).advanced(byNanoseconds: limit.per).nanoseconds
    }

    /// Judges a message that comes; `isTooMany` when no more passes while it is closed.
    mutating func judge(_ now: Int64, _ limit: Breaker.Limit, isTooMany: Bool, isNew: Bool) -> Breaker.Answer {
        self.limit = limit
        if case .quiet(let end, _) = phase, end <= now { close(now) }
        switch phase {
        case .closed:
            guard isTooMany else { return .pass }
            open(now)
        case .open(let end):
            if isNew && isMiddle(now) { cameAnyway += 1 }
            if end <= now && held.isEmpty && promised == 0 { return .passAsProbe }
        case .probing(let seen): phase = .probing(seen: isNew ? seen + 1 : seen)
        case .quiet(let end, let seen) where isNew:
            if isMore(seen + 1) { open(now) } else { phase = .quiet(until: end, seen: seen + 1) }
        case .quiet: break
        case .draining: if isTooMany { open(now) }
        }
        return .hold
    }

    /// Lets a message that passes be the probe of an open one.
    mutating func beginProbe() { if case .open = phase { phase = .probing(seen: 0) } }

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
    mutating func hold(_ message: HeldMessage) {
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

    // MARK: Forgetting

    /// Whether it need be remembered no longer: nothing is held, and it has been closed for as long as it was open.
    func isOver(_ now: Int64) -> Bool {
        guard held.isEmpty, promised == 0 else { return false }
        // A growing cool-down is remembered for as long as it was, also where no message came to be the probe.
        return switch phase {
        case .closed: closedAt == .min || now.since(closedAt) >= coolDown
        case .open(let end), .quiet(let end, _): now.since(end) >= coolDown
        case .draining(isBusy: false): true
        case .probing, .draining(isBusy: true): false
        }
    }

    /// Whether it can be forgotten when there is no more room.
    var isExpendable: Bool { phase == .closed && promised == 0 }
}
