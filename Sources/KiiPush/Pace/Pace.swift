/// How fast the messages of one key are handled.
///
/// Twenty are handled at once, and one each few seconds after that: the *floor*, which never ends. What is more is
/// taken from an hour's *allowance*, so that a burst waits for nothing. A key that takes from it is *listened to* in
/// the next pause: nothing of it is handled for some seconds, at a time that all devices have in common. What comes
/// later than a round trip after the beginning of the pause was not caused by handling the key, on any device: the key
/// goes on at that *rate*, and a tenth more. If nothing comes, it has no rate, only its floor once the allowance is
/// spent; an earlier rate of letters falls by half, since clusters come between pauses, too. If nothing comes in two
/// pauses, nor between them, although some were handled there, those that wait are handled until one comes: a burst,
/// which has caused nothing. Of an object, the newest change is handled and replaces older ones that wait.
///
/// The allowance is whole again when nothing waits and the last message was handled fifteen seconds ago, and an hour
/// after it was spent. What passes by a rate is counted, too: beyond an hour's bound, a pause must be longer than the
/// longest round trip to give a rate, and another one follows when a quarter more time has passed. So an hour's total
/// is bounded, unless messages come by themselves: when they end, a loop goes on at their pace for a quarter of their
/// time, and over letters at half of it for each pause after that. Beyond that bound, one burst passes in an hour.
///
/// A value without a clock; times are seconds.
struct Pace {
    /// The answer to a message that asks to be handled.
    enum Answer: Equatable {
        /// It is handled now.
        case now(Source)
        /// It asks again at this time.
        case later(until: Double)
    }

    /// What lets a message pass.
    enum Source {
        case floor, allowance, rate
    }

    /// How many may pass from the floor; the last change of an object's pause may pass in advance.
    private var tokens: Double
    private var at: Double
    private var allowance: Account
    /// What is left of an hour's bound for what short pauses have shown to come by itself.
    private var proofs: Account
    /// Whether a burst that exceeds that bound may still pass: one an hour.
    private var bursts = Account(1)
    /// When the last message was handled, or might have been by a new rate.
    private var handledAt: Double
    /// When the next pause begins, or has begun, and when it was planned; whether it is long, or was joined, and what
    /// was heard at its end.
    private var pause = Double.infinity
    private var plannedAt = 0.0
    private var isLong = false
    private var isJoined = false
    private var heard = 0.0
    /// Whether a pause that was not joined has ended since nothing came for fifteen seconds.
    private var hasPaused = false
    /// How many may pass each second beyond the floor, and how many now: none without a rate.
    private var rate = 0.0
    private var room = 0.0
    /// Since when each pause has shown a rate, and when the last one has.
    private var provedSince = Double.infinity
    private var provedAt = 0.0
    /// How many were heard and have neither passed nor ended; when the last one came.
    private(set) var waiting = 0
    private var cameAt = -Double.infinity
    /// The beginning of the first pause since which none has come, as far as the last pause has shown.
    private var quietSince = -Double.infinity
    /// Whether those that wait are a burst's, which pass until one comes.
    private var isBurst = false

    init(_ limits: Limits, now: Double) {
        tokens = limits.burst
        allowance = Account(limits.allowance)
        proofs = Account(limits.proofs)
        (at, handledAt) = (now, now)
    }

    /// A number that an hour restores.
    private struct Account {
        private(set) var left: Double
        private var due = Double.infinity

        init(_ most: Double) { left = most }

        /// Takes one, if there is one; returns whether there was.
        mutating func take(_ now: Double) -> Bool {
            guard left >= 1 else { return false }
            left -= 1
            if left < 1 { due = now + Pace.hour }
            return true
        }

        mutating func restore(_ most: Double, _ now: Double) { if now >= due { self = Account(most) } }
    }

    /// Whether no pause is planned and there is no rate.
    var isPlain: Bool { pause == .infinity && rate == 0 }

    /// Whether it makes messages wait.
    func isLimiting(_ now: Double, _ limits: Limits) -> Bool {
        var pace = self
        pace.advance(now, limits)
        return pace.waiting > 0 && (now >= pace.pause || pace.available < Double(pace.waiting))
    }

    /// Whether it can be forgotten, because a new one would be the same.
    func isIdle(_ now: Double, _ limits: Limits) -> Bool {
        let isNew = isPlain && waiting == 0 && allowance.left == limits.allowance && proofs.left == limits.proofs
        let refilled = limits.burst * limits.every
        return now - at > (isNew ? refilled : max(refilled, Self.hour))
    }

    // MARK: Hearing

    /// Records the arrival of a message, which waits from now on; one that `isNew` was sent just before, and one that
    /// `isAgain` came before, and waited elsewhere.
    mutating func hear(_ now: Double, isNew: Bool, isAgain: Bool = false, _ limits: Limits) {
        advance(now, limits)
        waiting += 1
        if !isAgain { (cameAt, isBurst) = (now, false) }
        let beginning = pause + Limits.roundTrip(isLong: isLong)
        if isNew, now >= beginning, now < beginning + limits.window(isLong: isLong) { heard += 1 }
    }

    /// Records that a message no longer waits: it passed, or ended in another way.
    mutating func leave() { if waiting > 0 { waiting -= 1 } }

    /// Records that a message passed and was not handled.
    mutating func giveBack(_ limits: Limits) { tokens = min(tokens + 1, limits.burst) }

    // MARK: Asking

    /// Whether it is plain and has not just paused, nothing waits, and the floor has a token.
    mutating func isReady(_ now: Double, _ limits: Limits) -> Bool {
        guard isPlain, waiting == 0 else { return false }
        advance(now, limits)
        return tokens >= 1 && !hasPaused
    }

    /// Takes a token of a floor that is ready, for a message that was not heard.
    mutating func pass() {
        tokens -= 1
        handledAt = at
    }

    /// Whether the newest message replaces those that wait before it, because not all of them may pass.
    mutating func hasFailed(_ now: Double, _ limits: Limits) -> Bool {
        advance(now, limits)
        return now < pause ? available < Double(waiting) : passesInAdvance(now, limits)
    }

    /// Decides about a message; one that may be handled no longer waits.
    ///
    /// The time of day, at which pauses begin, is ahead of `now` by `offset`.
    mutating func ask(_ now: Double, _ limits: Limits, _ offset: Double = 0) -> Answer {
        advance(now, limits)
        let answer = decide(now, limits, offset)
        if case .now = answer {
            leave()
            handledAt = now
        }
        return answer
    }

    private mutating func decide(_ now: Double, _ limits: Limits, _ offset: Double) -> Answer {
        if now >= pause { return listen(now, limits) }
        // A loop may have gone on at the pace of honest messages that have ended.
        if isLong, rate > 0, now - provedAt > max(Self.kept, (provedAt - provedSince) * Self.added) {
            plan(now, limits, offset)
        }
        if room >= 1 || isBurst, isLong || proofs.take(now) {
            room = max(0, room - 1)
            return .now(.rate)
        }
        // Once it has paused, it takes part in each pause, so that devices that hear different things pause at once.
        if tokens < 1 || hasPaused {
            plan(now, limits, offset)
            if now >= pause { return listen(now, limits) }
        }
        if tokens >= 1 {
            tokens -= 1
            return .now(.floor)
        }
        if allowance.take(now) { return .now(.allowance) }
        let floor = (1 - tokens) * limits.every
        let next = rate > 0 ? min(floor, max(0, 1 - room) / rate) : floor
        return .later(until: min(pause, now + next))
    }

    /// Decides in a pause.
    private mutating func listen(_ now: Double, _ limits: Limits) -> Answer {
        guard passesInAdvance(now, limits) else { return .later(until: pause + limits.length(isLong: isLong)) }
        tokens -= 1
        return .now(.floor)
    }

    /// How many may pass now.
    private var available: Double {
        if isBurst { return Double(waiting) }
        return allowance.left.rounded(.down) + max(0, tokens.rounded(.down)) + room.rounded(.down)
    }

    /// Whether an object's newest change passes as the pause begins, so that it does not wait for its end.
    private func passesInAdvance(_ now: Double, _ limits: Limits) -> Bool {
        limits.newestWins && tokens >= 0 && now < pause + Self.margin
    }

    // MARK: Pauses

    /// Plans the next pause, if none is planned; a pace slower than one a minute is kept without any, since a key that
    /// waits for a day must not ask each ten seconds.
    private mutating func plan(_ now: Double, _ limits: Limits, _ offset: Double) {
        guard pause == .infinity, limits.every <= Self.kept else { return }
        let changes = isLong == (proofs.left >= 1)
        if changes {
            isLong.toggle()
            forgetRate()
        }
        // One that has just begun is joined, so that others do not hear what this device causes when it goes beyond
        // the burst a little later than they do; by a key that has paused before, one that has not ended. After pauses
        // of the other length none is: an object's newest change must not wait for one after another.
        let ago = isLong || changes ? 0 : hasPaused ? limits.length(isLong: isLong) - Self.apart : Self.joined
        // It begins when an object's newest change may pass in advance again.
        let debt = max(0, -tokens) * limits.every
        pause = Self.nextPause(after: now + offset + debt - ago, isLong: isLong) - offset
        (isJoined, heard, plannedAt) = (now >= pause, 0, min(now, pause))
    }

    /// When a pause begins next: once in each slot of time, early enough for the longest pause, and at the same moment
    /// on all devices, which varies so that few regular clusters keep missing it.
    static func nextPause(after now: Double, isLong: Bool) -> Double {
        let ofDay = pausesOfDay(isLong: isLong)
        let slot = 24 * hour / ofDay
        var number = (now / slot).rounded(.down)
        while true {
            var digest = KeyedDigest(.published)
            digest.add(UInt64(max(0, number.truncatingRemainder(dividingBy: ofDay))))
            let part = Double(digest.half >> 11) * 0x1p-53
            let time = number * slot + part * spread
            if time > now { return time }
            number += 1
        }
    }

    /// Takes the steps that are due.
    private mutating func advance(_ now: Double, _ limits: Limits) {
        if now - at > max(Self.kept, 2 * limits.every) {
            // Nobody has asked for long: those that waited ended unheard of. Of several that come now, only the first
            // forgets them.
            waiting = 0
        }
        let end = pause + limits.length(isLong: isLong)
        if now >= end {
            refill(end, limits)
            conclude(end, limits)
        }
        refill(now, limits)
    }

    /// Ends a pause: what was heard says how many come by themselves.
    private mutating func conclude(_ end: Double, _ limits: Limits) {
        defer { (pause, hasPaused) = (.infinity, hasPaused || !isJoined) }
        let wasHandled = handledAt > quietSince
        let (before, found) = (rate, Self.growth * heard / limits.window(isLong: isLong))
        // Clusters of letters come between pauses, too. A pause that was joined cannot raise the rate: others may have
        // gone beyond the burst too late to join.
        let least = limits.newestWins ? found : (found + before) / 2
        rate = found < before ? least : isJoined ? before : found
        // Less than one a minute is none.
        if rate * Self.kept >= 1 {
            // It counts for those that have waited, too: of an object those of the pause, since newer ones have
            // replaced the others.
            room = max(0, room + (rate - before) * (end - (limits.newestWins ? pause : plannedAt)))
            (provedSince, provedAt, handledAt) = (min(provedSince, pause), end, end)
        } else {
            forgetRate()
        }
        findBurst(limits, wasHandled)
    }

    /// Those that wait are a burst's if none has come since an earlier pause began, though some were handled since:
    /// another device that waited in that pause would have answered before this one has ended.
    private mutating func findBurst(_ limits: Limits, _ wasHandled: Bool) {
        guard cameAt < quietSince else {
            quietSince = cameAt < pause ? pause : -.infinity
            return
        }
        // An hour's bound counts them. Beyond it, one passes, and any if a rate shows that most come by themselves.
        isBurst = wasHandled && !limits.newestWins && (!isLong || rate > 0 || bursts.take(at))
    }

    private mutating func refill(_ now: Double, _ limits: Limits) {
        let passed = max(0, now - at)
        at = max(at, now)
        tokens = min(limits.burst, tokens + passed / limits.every)
        room = min(room + passed * rate, max(room, rate * Self.kept))
        if waiting == 0, now - handledAt >= Self.longRoundTrip {
            (allowance, hasPaused) = (Account(limits.allowance), false)
        }
        allowance.restore(limits.allowance, now)
        proofs.restore(limits.proofs, now)
        bursts.restore(1, now)
        if now - handledAt > Self.kept || !isLong && proofs.left < 1 { forgetRate() }
    }

    private mutating func forgetRate() { (rate, room, provedSince, isBurst) = (0, 0, .infinity, false) }
}
