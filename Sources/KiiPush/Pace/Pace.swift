/// How fast the messages of one key are handled.
///
/// Twenty are handled at once, and after that one each few seconds: the *floor*, which never ends. Whoever finds it
/// empty is *listened to*: nothing of the key is handled for eight seconds. What comes in the last five of them was
/// not caused by handling the key, so it goes on as fast as it came. If nothing came, one, twenty and all that wait
/// are *tried*, with pauses, as long as nothing comes back. If something does, or came only at first, the key
/// *failed*: it gets the floor, and is listened to again; an object at times that all devices have in common, since
/// what other devices cause comes by itself for this one. What passes above the floor is paid from an hourly *budget*;
/// once that is spent, the key is listened to for so long that only round trips of more than fifteen seconds could
/// deceive it.
///
/// An object is *doubted* for an hour after its arrivals died down while it was listened to, or after its pace was
/// raised three times within an hour: what passes above the floor then costs 21 times as much, and no listening proves
/// a pace. That is cheap, since the newest change of an object says all that older ones say.
///
/// So an hour's total is at most the floor's and the budget's, unless messages come by themselves.
///
/// A value without a clock; times are seconds.
struct Pace {
    /// The answer to a message that asks to be handled.
    enum Answer: Equatable {
        /// It is handled now; from the floor, or beyond it.
        case now(isFromFloor: Bool)
        /// It asks again at this time.
        case later(until: Double)
    }

    private enum State {
        case open
        case listening(since: Double, isLong: Bool)
        /// The number of the try: 0 before the first, 3 for all that wait.
        case trying(Int, until: Double, isLong: Bool)
        case failed
    }

    private var state = State.open
    private var tokens: Double
    private var at: Double
    /// The pace above the floor that the key may have, how many may pass now because of it, and the part of it that a
    /// long listening has proved.
    private var rate = 0.0
    private var room = 0.0
    private var proven = 0.0
    private var lastUse = 0.0
    /// What is left of the budget, and when a spent one is restored.
    private var budget: Double
    private var restored = Double.infinity
    /// What was heard while nothing was handled: at first, and in the window at the end.
    private var before = 0.0
    private var last = 0.0
    private var isBack = false
    /// How often its pace was raised within an hour, since when; and until when no listening proves its pace.
    private var raises = 0
    private var firstRaise = -Double.infinity
    private var doubtedUntil = -Double.infinity
    /// When a failed object is listened to again.
    private var checkAt = 0.0
    private var mayBorrow = false
    /// How many a try may still let pass, and how many it has paid from the budget.
    private var allowed = 0.0
    private var tried = 0.0
    /// How many were heard and have neither passed nor ended.
    private(set) var waiting = 0

    init(_ limits: Limits, now: Double) {
        tokens = limits.burst
        budget = limits.budget
        at = now
    }

    /// Whether it has no pace of its own and looks at nobody.
    var isPlain: Bool { if case .open = state { rate == 0 } else { false } }

    /// Whether it makes messages wait.
    var isLimiting: Bool { if case .open = state { false } else { true } }

    /// Whether it makes messages wait now.
    func isLimiting(_ now: Double, _ limits: Limits) -> Bool {
        var pace = self
        pace.advance(now, limits)
        return pace.isLimiting
    }

    /// Whether it can be forgotten, because a new one would be the same.
    func isIdle(_ now: Double, _ limits: Limits) -> Bool {
        let isNew = isPlain && waiting == 0 && budget == limits.budget
        return now - at > (isNew ? limits.burst * limits.every : Self.hour)
    }

    // MARK: Hearing

    /// Records the arrival of a message, which waits from now on; one that `isNew` was sent just before.
    mutating func hear(_ now: Double, isNew: Bool, _ limits: Limits) {
        if isLimiting { advance(now, limits) }
        forgetWaiting(now, limits)
        waiting += 1
        guard isNew else { return }
        switch state {
        case .open, .failed: break
        case .listening(let since, let isLong):
            let time = now - since
            if time >= (isLong ? Self.longRoundTrip : Self.roundTrip) {
                last += 1
            } else if !isLong || time >= limits.length(isLong: false) {
                before += 1
            }
        case .trying(let number, _, _): if number < 3 { isBack = true }
        }
    }

    /// Records that a message no longer waits: it passed, or ended in another way.
    mutating func leave() { if waiting > 0 { waiting -= 1 } }

    /// Records that a message passed and was not handled.
    mutating func giveBack(_ limits: Limits) { tokens = min(tokens + 1, limits.burst) }

    // MARK: Asking

    /// Whether it looks at nobody, nobody waits, and the floor has a token.
    mutating func isReady(_ now: Double, _ limits: Limits) -> Bool {
        guard isPlain, waiting == 0 else { return false }
        refill(now, limits)
        return tokens >= 1
    }

    /// Takes a token of a floor that is ready.
    mutating func pass() { tokens -= 1 }

    /// Whether the newest message replaces those that wait before it.
    mutating func hasFailed(_ now: Double, _ limits: Limits) -> Bool {
        advance(now, limits)
        return if case .failed = state { true } else { false }
    }

    /// Decides about a message; one that may be handled no longer waits.
    mutating func ask(_ now: Double, _ limits: Limits) -> Answer {
        advance(now, limits)
        forgetWaiting(now, limits)
        refill(now, limits)
        let answer = decide(now, limits)
        if case .now = answer { leave() }
        return answer
    }

    private mutating func decide(_ now: Double, _ limits: Limits) -> Answer {
        switch state {
        case .open:
            if rate > 0, room >= 1, passesByRate(now, limits) { return .now(isFromFloor: false) }
            if limits.newestWins, rate > 0, waiting > 1, tokens < 2 {
                // Another listening would make those late that have waited for the last one.
                fail(now)
                return .later(until: now + Self.tick)
            }
            if takeToken() { return .now(isFromFloor: true) }
            if allowed >= 1, pay(1, now) {
                allowed -= 1
                return .now(isFromFloor: false)
            }
            listen(now, limits)
            return decide(now, limits)
        case .listening(let since, let isLong): return .later(until: since + limits.length(isLong: isLong))
        case .trying(let number, let until, let isLong): return tryNow(number, until, isLong, now, limits)
        case .failed:
            if limits.newestWins, now >= checkAt {
                // Nobody is late for the listening: it begins with the newest of those that wait.
                mayBorrow = true
                _ = takeToken() || borrow()
                tokens = min(tokens, 0)
                listen(now, limits)
                return .now(isFromFloor: true)
            }
            guard takeToken() || limits.newestWins && borrow() else {
                let next = now + (1 - tokens) * limits.every + Self.tick
                return .later(until: limits.newestWins ? min(next, checkAt) : next)
            }
            // The newest of an object stands for all that came before it.
            if limits.newestWins { tokens = min(tokens, 0) } else if tokens < 1 { listen(now, limits) }
            return .now(isFromFloor: true)
        }
    }

    private mutating func passesByRate(_ now: Double, _ limits: Limits) -> Bool {
        lastUse = now
        // A key that has not used its floor for a while pays nothing for that.
        let isFree = tokens >= limits.burst - 1 && takeToken()
        guard isFree || pay(1 - proven / rate, now) else { return false }
        room -= 1
        return true
    }

    private mutating func tryNow(
        _ number: Int, _ until: Double, _ isLong: Bool, _ now: Double, _ limits: Limits
    ) -> Answer {
        guard allowed >= 1 else { return .later(until: until) }
        // One is left for the newest change of an object, if the try fails.
        if tokens >= (limits.newestWins && number == 2 ? 2 : 1), takeToken() {
            allowed -= 1
            return .now(isFromFloor: true)
        }
        guard number == 3 || number == 2 && !isLong, pay(1, now) else { return .later(until: until) }
        allowed -= 1
        tried += 1
        return .now(isFromFloor: false)
    }

    /// Takes a token of later: the newest of an object that has failed passes at once, once.
    private mutating func borrow() -> Bool {
        guard mayBorrow else { return false }
        (tokens, mayBorrow) = (tokens - 1, false)
        return true
    }

    private mutating func takeToken() -> Bool {
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }

    private mutating func pay(_ share: Double, _ now: Double) -> Bool {
        guard share > 0 else { return true }
        let cost = share * price(now)
        guard budget >= cost else { return false }
        budget -= cost
        return true
    }

    // MARK: Time

    private mutating func refill(_ now: Double, _ limits: Limits) {
        let passed = max(0, now - at)
        at = max(at, now)
        tokens = min(limits.burst, tokens + passed / limits.every)
        if now >= restored { restore(limits) }
        let most = limits.burst + rate * Self.window
        if room < most { room = min(most, room + passed * rate) }
    }

    /// Takes the steps that are due.
    private mutating func advance(_ now: Double, _ limits: Limits) {
        while true {
            switch state {
            case .open:
                if rate > 0, now - lastUse > Self.quiet {
                    forgetRate()
                    allowed = 0
                }
                return
            case .listening(let since, let isLong):
                let end = since + limits.length(isLong: isLong)
                guard now >= end else { return }
                refill(end, limits)
                conclude(end, isLong, limits)
            case .trying(let number, let until, let isLong):
                if isBack {
                    if number == 2, now >= doubtedUntil { budget -= tried * Self.costOfFailure }
                    fail(now)
                } else if now < until {
                    return
                } else {
                    tryMore(number, until, isLong, limits)
                }
            case .failed:
                guard waiting == 0, !limits.newestWins || now >= checkAt else { return }
                state = .open
            }
        }
    }

    private mutating func listen(_ now: Double, _ limits: Limits) {
        (before, last, tried, isBack) = (0, 0, 0, false)
        if budget < limits.burst * price(now) {
            budget = 0
            if restored == .infinity { restored = now + Self.hour }
        }
        state = .listening(since: now, isLong: budget == 0 && !limits.provesAtOnce)
    }

    private mutating func conclude(_ end: Double, _ isLong: Bool, _ limits: Limits) {
        let pace = last / limits.window(isLong: isLong)
        let density = before / (isLong ? Self.longRoundTrip - limits.length(isLong: false) : Self.roundTrip)
        if pace > 0, pace * Self.decline >= density {
            if limits.newestWins, isLong ? end < doubtedUntil : Double(waiting) * price(end) > budget + tokens {
                if isLong { doubt(end, limits) }
                return fail(end)
            }
            noteRaise(to: Self.growth * pace, end, limits)
            rate = Self.growth * pace
            if isLong || limits.provesAtOnce { proven = rate }
            lastUse = end
            room = pace * limits.length(isLong: isLong) + min(limits.burst, rate * Self.window)
            allowed = Double(waiting)
            state = .open
        } else if last > 0 || isLong && limits.newestWins {
            if !isLong, before >= limits.burst { doubt(end, limits) }
            fail(end)
        } else {
            allowed = 0
            // A long silence says as much as a first try.
            state = .trying(isLong ? 1 : 0, until: end, isLong: isLong)
        }
    }

    /// Doubts an object whose pace was raised often: a loop of many devices grows so.
    private mutating func noteRaise(to pace: Double, _ now: Double, _ limits: Limits) {
        if now - firstRaise > Self.hour { (raises, firstRaise) = (0, now) }
        guard rate > 0, pace > rate else { return }
        raises += 1
        if raises >= Self.mostRaises { doubt(now, limits) }
    }

    private mutating func doubt(_ now: Double, _ limits: Limits) {
        if limits.newestWins { doubtedUntil = now + Self.hour }
    }

    /// What a message above the floor costs the budget.
    private func price(_ now: Double) -> Double { now < doubtedUntil ? Self.costOfFailure : 1 }

    private mutating func tryMore(_ number: Int, _ until: Double, _ isLong: Bool, _ limits: Limits) {
        if number == 3 || waiting == 0 {
            if isLong { restore(limits) }
            forgetRate()
            if waiting == 0 { allowed = 0 }
            state = .open
        } else if number == 2, limits.newestWins, Double(waiting) * price(until) > budget {
            fail(until)
        } else {
            // A rare floor lets too few of them be tried to prove anything.
            let isProved = isLong && (number < 2 || allowed <= limits.burst / 2)
            if number == 2, isProved { restore(limits) }
            allowed = number == 0 ? 1 : number == 1 ? limits.burst : Double(waiting)
            let pause = number == 2 ? Self.tick : (isLong ? Self.longRoundTrip : Self.roundTrip) + Self.margin
            state = .trying(number + 1, until: until + pause, isLong: isProved)
        }
    }

    private mutating func fail(_ now: Double) {
        forgetRate()
        (allowed, isBack) = (0, false)
        mayBorrow = true
        checkAt = (now / Self.checks + 1).rounded(.down) * Self.checks
        state = .failed
    }

    /// Forgets messages that ended unheard of, when nobody has asked for long.
    private mutating func forgetWaiting(_ now: Double, _ limits: Limits) {
        guard now - at > max(Self.quiet, 2 * limits.every) else { return }
        waiting = 0
        // Of several that come now, only the first forgets them.
        refill(now, limits)
    }

    private mutating func forgetRate() { (rate, proven, room) = (0, 0, 0) }

    private mutating func restore(_ limits: Limits) { (budget, restored) = (limits.budget, .infinity) }
}
