// How a breaker tries held messages, weighs what arrives then, and decides.

extension Suspicion {
    /// The evidence that is enough for a verdict, of all tries together and of a single one; see ``CauseEvidence``.
    private static let loop = (all: -2.5, one: -4.0)
    /// The few messages of a slow stream seem to be answered by chance more often.
    private static let loopOfSlow = (all: -4.5, one: -5.5)
    private static let noLoop = 2.2
    /// The penalty if only some messages cause one; smaller for a key whose trust was breached.
    private static let some = 5.0, someOfDoubted = 3.0
    /// A revision whose last try shows as much has clearly found a loop.
    private static let clearly = -3.0

    /// Tries as many as show against what arrives anyway, but at least `least`.
    mutating func begin(_ now: Int64, atLeast least: Int = 1, isGrowing: Bool = false) {
        guard !held.isEmpty else { return close() }
        let (pace, watch) = (evidence.pace, watchSeconds)
        let strength: Double = self.pace * 0.4 <= pace || isSteady && backoff > 0 ? 8 : 4
        let fewest = isSlowAndUnjudged ? Listening.fewestOfSlow : 1
        var size = min(max(least, Int((strength * (pace * watch).squareRoot()).rounded(.up)), fewest), held.count)
        if !isGrowing {
            guard let affordable = affordable(size, now) else { return }
            size = affordable
            budget.use(cost(of: size), now)
        }
        batch = TryBatch(started: now, size: size, toGo: size, isGrowing: isGrowing)
        phase = .trying
    }

    /// The cost of a try: its messages beyond twice the usual arrivals; all of them once it was a loop.
    private func cost(of size: Int) -> Int {
        if backoff > 0 { return size }
        let idle = evidence.idle
        return max(size - Int(2 * Double(idle.arrived) / max(idle.seconds, 0.1) * watchSeconds), 1)
    }

    /// How many messages of a try the budget allows; nil if none, and the key is released or waits.
    private mutating func affordable(_ size: Int, _ now: Int64) -> Int? {
        let usual = evidence.pace * watchSeconds
        let left = budget.left(now)
        // A stream that was taken for a loop may end; its remaining messages are then tried one by one.
        let reserve = backoff > 0 && size > 1 ? TryBudget.reserve : 0
        if cost(of: size) <= left - reserve { return size }
        if logRatio > 1 {
            accept(now)
            return nil
        }
        // At most as many as show against the usual arrivals; one more by rounding.
        if isSteady, size <= 33 + Int(usual / 2), budget.takeRevision(now) { return size }
        if left >= 1, evidence.pace < 0.2 { return left }
        quietSince = now
        // Not for an hour at once if it may still be a stream, or have ended.
        let refilled = left >= 1 || budget.mayRevise(now) ? now : budget.refilled ?? now
        phase = .waiting(until: max(refilled, now &+ .seconds(left >= 1 ? 15 : 30)))
        return nil
    }

    mutating func watch(_ now: Int64) {
        let usual = watchSeconds
        // A large batch shows a slow loop, too; answers may take ten seconds.
        let seconds = batch.isGrowing && batch.size >= 64 ? min(usual * 2.5, max(usual, 12)) : usual
        backlog.restart()
        phase = .watching(until: now &+ .seconds(seconds))
    }

    /// Weighs the arrivals since the batch was handled.
    mutating func weigh(_ now: Int64) {
        if let end = backlog.takeEnd(now) {
            phase = .watching(until: end &+ .seconds(watchSeconds))
            return
        }
        let seconds = Double(now.since(batch.started)) / 1e9
        let usual = evidence.pace * seconds
        let spread = (usual + usual * usual / (Double(evidence.arrived) + 0.5)).squareRoot()
        if Double(batch.answers) < usual - 4 * spread - 1 {
            // The usual arrivals have ended: they were not a stream, and may have been answers to earlier handling.
            doubts.add(now)
            return listen(now)
        }
        evidence.penaltyOfSome = doubts.breaches > 0 ? Self.someOfDoubted : batch.isGrowing ? Self.some : nil
        let before = evidence.logRatio
        evidence.add(CauseEvidence.Stretch(handled: batch.size, arrived: batch.answers, seconds: seconds))
        let gain = evidence.logRatio - before
        logRatio += gain
        let loop = isSlowAndUnjudged ? Self.loopOfSlow : Self.loop
        if logRatio <= loop.all || gain <= loop.one {
            if gain <= Self.clearly { budget.confirmLoop(now) }
            hold(for: now)
        } else if logRatio >= Self.noLoop {
            accept(now)
        } else {
            begin(now, atLeast: evidence.pace < 0.3 ? batch.size * 4 : batch.size)
        }
    }

    /// Waits twice as long as after the last loop.
    private mutating func hold(for now: Int64) {
        doubts.forgetShare()
        doubts.add(now)
        let doubled = min(backoff.multipliedReportingOverflow(by: 2).partialValue, Self.longestBackoff)
        wait(for: max(doubled, limit.coolDown), now)
    }

    mutating func wait(for time: Int64, _ now: Int64) {
        backoff = time
        isSteady = false
        quietSince = now
        backlog.restart()
        phase = .waiting(until: now &+ backoff)
    }

    private static let longestBackoff = LoopRate.longestCoolDown.inNanoseconds

    /// Handling causes nothing: releases the held messages, or as many as is safe.
    mutating func accept(_ now: Int64) {
        if backoff == 0 { budget.release() }
        budget.endRevision()
        let explained = 1.5 * evidence.pace * Double(now.since(openedAt)) / 1e9 + 4
        guard Double(held.count) <= explained else {
            return begin(now, atLeast: batch.size * 4, isGrowing: true)
        }
        trust.pace = max(evidence.pace, min(evidence.highestPace, pace))
        (trust.since, trust.lastUsed, trust.nextLook) = (now, now, now)
        trust.isIndependent = !isMixed
        // Half of the pace, less what chance takes away.
        let arrived = Double(evidence.idle.arrived)
        let isGoingOn = arrived + arrived.squareRoot() >= 0.5 * pace * evidence.idle.seconds
        (trust.isPlainStream, trust.isSuspect) = (isGoingOn && !isPart, !isGoingOn && isPart)
        trust.parts = parts.paces(in: Double(now.since(openedAt)) / 1e9)
        trust.breaches = doubts.breaches
        trust.dispersion = dispersion.factor
        // A stream below its limit needs no trust; it was a burst, or a loop that will be detected again.
        if trust.pace * Double(limit.slowSpan) / 1e9 < Double(limit.slowMessages) { trust.pace = 0 }
        parts = PartTallies()
        isPassesReset = backoff == 0
        backoff /= 2
        phase = .releasing
    }

    private mutating func close() {
        isPassesReset = true
        phase = .closed
    }
}
