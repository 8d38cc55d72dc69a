/// What a breaker knows since it opened for the first time: whether its messages are caused here, and what it holds.
///
/// A rate cannot tell a loop from a busy sensor; cause can. The breaker can handle a message or not, and look at what
/// comes:
///
/// 1. *Listening*: nothing is handled. What still comes once answers under way have arrived was not caused here.
/// 2. *Trying*: some held messages are handled together, enough of them to show against what comes anyway.
/// 3. *Watching*: do more come than before? ``CauseEvidence`` weighs it. If it says neither, more are tried.
/// 4. If handling caused nothing, all held messages follow: *releasing*. The key is trusted with the pace that was
///    measured. A queue that no stream explains is released in batches, each four times the last.
/// 5. If it did, the key waits 2, 4, 8 … seconds, up to an hour, and one message is tried again. ``TryBudget`` bounds
///    the tries that do not end in a release.
///
/// Trust is provisional: for 24 seconds the breaker checks whether arrivals follow the pause that it made, at any delay
/// up to ten seconds. A key that broke its trust is listened to for longer; from the second time on it waits first, 30
/// seconds, then 2, 8 and 32 minutes.
struct Suspicion {
    private(set) var phase = Breaker.Phase.closed
    var held = HeldQueue()
    /// Places that were promised to messages which are about to be held.
    private var promised = 0
    private var limit: RateLimit
    /// For how long it waits after the next loop, or did after the last one, in nanoseconds.
    private(set) var backoff: Int64 = 0

    // What came before, and since.
    private var record: ArrivalRecord
    private var openedAt: Int64 = .min
    /// Since when it listens, or waits.
    private var quietSince: Int64 = .min
    /// The pace at which it opened, in messages a second.
    private var pace = 0.0
    /// Whether its key was part of a stream that a wider breaker trusts.
    private var isPart = false
    private var evidence = CauseEvidence(arrived: 0, seconds: 0.5, dispersion: 1)
    private var dispersion = Dispersion()
    private var logRatio = 0.0
    private var batch = TryBatch()
    private var parts = PartTallies()
    private var backlog = Backlog()
    /// How many of the released messages run.
    private var running = 0

    // What was learnt.
    /// How often lately it was wrong about the key; more makes it listen and watch for longer.
    private var doubts = 0
    private var doubtedAt: Int64 = .min
    private var budget = TryBudget()
    private var isSteady = false
    /// Whether so much else was handled while it listened that this may have caused what came.
    private var isMixed = false
    private var trust = Trust()
    /// How often trust was broken since it was last proven.
    private var breaches = 0

    /// How many released messages run at once.
    private static let mostRunning = 16

    init(_ limit: RateLimit, _ now: Int64) {
        self.limit = limit
        record = ArrivalRecord(now)
    }

    /// That of a breaker which opened in an earlier process: it waits on, or listens anew if it had not judged yet.
    init(_ limit: RateLimit, waitingUntil end: Int64, backoff: Int64, _ now: Int64) {
        self.init(limit, now)
        self.backoff = backoff
        openedAt = now
        listen(now)
        // What it would have found out is not worth much by then.
        if backoff > 0 || now.since(end) >= .seconds(600) { phase = .waiting(until: end) }
    }

    var isTrusted: Bool { trust.pace > 0 }
    /// Whether it is trusted and no wider breaker need count what passes.
    var isIndependent: Bool { isTrusted && trust.isIndependent }

    // MARK: Messages that come

    /// Judges a message, and counts it among `passes` if it passes.
    mutating func judge(_ arrival: Arrival, _ limit: RateLimit, _ passes: inout PassWindow) -> Breaker.Answer {
        let now = arrival.now
        self.limit = limit
        note(arrival)
        if phase == .releasing, held.isEmpty, promised == 0, running == 0 { phase = .closed }
        guard phase == .closed else { return .hold }
        if isTrusted, now.since(trust.lastUsed) > .seconds(600) { trust.pace = 0 }
        let isOpened = compare(now)
        if !isOpened, mayPass(now, &passes) {
            record.addHandled(now)
            passes.add(now, limit.slowSpan, limit: limit.slowMessages)
            return isIndependent ? .passTrusted : .pass
        }
        open(now, passes)
        note(arrival)
        return .hold
    }

    /// Takes down that a message came.
    mutating func note(_ arrival: Arrival) {
        guard arrival.kind != .again else { return }
        record.addArrival(arrival.time, arrival.now)
        if arrival.time > batch.started { batch.answers += 1 }
        backlog.note(arrival)
    }

    /// Takes down that it holds a message of narrower keys.
    mutating func tally(_ keys: RateKeys, heldBy level: BreakerLevel) { parts.add(keys, heldBy: level) }

    /// The pace with which a narrower key needs no look at it: infinite while this one holds all of them.
    func partPace(of level: BreakerLevel) -> Double {
        guard phase == .closed else { return .infinity }
        return isIndependent ? trust.parts[level] : 0
    }

    /// Whether it may open by chance, in a stream of which its key has a part.
    var isUnsuspected: Bool { phase == .closed && !isTrusted && backoff == 0 }

    private mutating func mayPass(_ now: Int64, _ passes: inout PassWindow) -> Bool {
        guard isTrusted else { return limit.lets(&passes, now) }
        if passes.count(limit.slowSpan, now) > limit.slowMessages / 2 { trust.lastUsed = now }
        return trust.lets(&passes, limit, now)
    }

    /// Compares arrivals with what was handled, while trust is provisional; whether they follow it, or it must pause
    /// once more to tell.
    private mutating func compare(_ now: Int64) -> Bool {
        guard let start = trust.comparedFrom, now >= trust.nextLook else { return false }
        trust.nextLook = now &+ .seconds(1)
        let following = record.following(since: start, now, dispersion: trust.dispersion)
        if following >= 7 {
            distrust(now)
            return true
        }
        guard now.since(trust.since) > .seconds(24) else { return false }
        if following < trust.provenBelow || trust.pace < 2 {
            (trust.comparedFrom, trust.isProven) = (nil, true)
            // So few messages prove nothing.
            guard trust.pace >= 2 || trust.pace > 0 && backoff == 0 else { return false }
            (doubts, backoff, breaches) = (0, 0, 0)
            budget.release()
            return false
        }
        if trust.isSecondPause { doubt(now) }
        trust.isSecondPause = true
        trust.pace = 0
        return true
    }

    /// Takes down that arrivals followed what was handled, or came faster than the pace that was trusted and not
    /// proven.
    private mutating func breach() { breaches = min(breaches + 1, Self.mostBreaches) }

    private static let mostBreaches = 5

    private mutating func distrust(_ now: Int64) {
        breach()
        trust = Trust()
        doubt(now)
        doubt(now)
    }

    private mutating func doubt(_ now: Int64) {
        doubts = min(doubts + 1, Listening.byDoubts.count - 1)
        doubtedAt = now
    }

    private mutating func open(_ now: Int64, _ passes: PassWindow) {
        let isSecondPause = trust.isSecondPause && trust.comparedFrom != nil && now.since(trust.since) < .seconds(100)
        if !isSecondPause {
            record = ArrivalRecord(now)
            if doubtedAt != .min, now.since(doubtedAt) > .seconds(900) { doubts = 0 }
            if doubtedAt != .min, now.since(doubtedAt) > .seconds(7200) { breaches = 0 }
            // The pace that it was trusted with was not its own.
            if trust.since != .min, !trust.isProven, now.since(trust.since) < .seconds(600) {
                breach()
                doubt(now)
            }
            trust = Trust()
            trust.comparedFrom = now
        }
        pace = limit.pace(passes, now)
        isPart = isPart || limit.isRaised
        openedAt = now
        parts = PartTallies()
        listen(now)
        // A loop beside honest messages of its key looks like them while it is held, and runs away once it is released.
        if breaches > 1 { wait(for: Int64.seconds(30) << Int64(2 * (breaches - 2)), now) }
    }

    private mutating func listen(_ now: Int64) {
        quietSince = now
        backlog.restart()
        logRatio = 0
        batch = TryBatch()
        phase = .listening(until: now &+ .seconds(Listening.byDoubts[doubts].time))
    }

    // MARK: Steps

    private var watchSeconds: Double { Listening.byDoubts[doubts].watch }

    /// When there is something to do; nil when nothing is, or messages of it run.
    var due: Int64? {
        switch phase {
        case .closed: nil
        case .listening(let end), .watching(let end): end
        case .waiting(let end): held.isEmpty ? nil : end
        case .trying: batch.toGo > 0 ? .min : nil
        case .releasing where held.isEmpty: promised == 0 && running == 0 ? .min : nil
        case .releasing: running < Self.mostRunning ? .min : nil
        }
    }

    /// Does what is due, where `others` were handled meanwhile.
    private mutating func step(_ now: Int64, _ others: TimeBins) {
        switch phase {
        case .listening(let end) where end <= now: endListening(now, others)
        case .watching(let end) where end <= now: weigh(now)
        case .waiting(let end) where end <= now && !held.isEmpty: endWaiting(now, others)
        case .closed, .listening, .watching, .waiting, .trying, .releasing: break
        }
    }

    /// Takes down whether what came since it is quiet may have been caused by `others` that were handled: one answer of
    /// ten in a fleet, or to a message that several answer.
    private mutating func compare(_ arrived: Int, with others: TimeBins, _ now: Int64) {
        // Behind the bin in which what passed last of its own is counted, too.
        let handled = others.count(from: quietSince &+ TimeBins.bin, to: now).count
        isMixed = handled >= 2 && handled * 10 >= arrived
    }

    private mutating func endListening(_ now: Int64, _ others: TimeBins) {
        let listen = Listening.byDoubts[doubts]
        if let end = backlog.takeEnd(now) {
            // Only what comes from now on tells anything.
            quietSince = end
            phase = .listening(until: end &+ .seconds(listen.time))
            return
        }
        let start = quietSince &+ .seconds(listen.skip)
        let (first, second) = record.halves(since: start, now)
        let count = first.count + second.count
        let seconds = max(first.seconds + second.seconds, 0.25)
        // What grows or dies away is on its way still, or answers what others handle.
        let isGrowing = Double(count) / seconds > 4 * pace + 5
        let isChanging =
            first.count >= 8 && second.count * 3 < first.count || second.count >= 12 && first.count * 3 < second.count
        if isGrowing || isChanging, now.since(quietSince) < .seconds(max(16, listen.time + 6)) {
            phase = .listening(until: now &+ .seconds(1.5))
            return
        }
        let steady = isChanging ? second : (count, seconds)
        dispersion.add(record.arrivalsOfSeconds(since: start, now))
        evidence = CauseEvidence(
            arrived: steady.0, seconds: max(steady.1, 0.25), dispersion: dispersion.factor)
        logRatio = 0
        compare(count, with: others, now)
        begin(now)
    }

    private mutating func endWaiting(_ now: Int64, _ others: TimeBins) {
        if let end = backlog.takeEnd(now) {
            quietSince = end
            phase = .waiting(until: end &+ .seconds(2))
            return
        }
        let start = max(quietSince, now &- .seconds(60))
        let (first, second) = record.halves(since: start, now)
        var (count, seconds) = (first.count + second.count, max(first.seconds + second.seconds, 0.5))
        isSteady = count >= 2 && first.count <= 2 * second.count + 4 && second.count <= 2 * first.count + 4
        // A slow stream needs some time to be seen as one.
        if count >= 2, count < 8, seconds < 6, budget.mayRevise(now) {
            phase = .waiting(until: now &+ .seconds(1))
            return
        }
        dispersion.add(record.arrivalsOfSeconds(since: start, now))
        budget.endRevision()
        compare(count, with: others, now)
        let usual = evidence.idle.seconds > 0 ? Double(evidence.idle.arrived) / evidence.idle.seconds * seconds : 0
        if usual > 0, Double(count) > 1.5 * usual + 4 * usual.squareRoot() + 4 {
            // More and more come while nothing is handled: others cause it still, and a try would tell nothing.
            evidence = CauseEvidence(arrived: count, seconds: seconds, dispersion: dispersion.factor)
            quietSince = now
            phase = .waiting(until: now &+ max(backoff, limit.coolDown))
            return
        }
        if seconds < 6, abs(Double(count) - usual) <= 1.5 * usual.squareRoot() + 0.5 {
            count += evidence.idle.arrived
            seconds += evidence.idle.seconds
        }
        evidence = CauseEvidence(arrived: count, seconds: seconds, dispersion: dispersion.factor)
        // It was a loop the last time.
        logRatio = -1.5
        begin(now)
    }

    // MARK: Trying

    /// Tries as many as show against what comes anyway, but at least so many.
    private mutating func begin(_ now: Int64, atLeast least: Int = 1, isGrowing: Bool = false) {
        guard !held.isEmpty else { return close() }
        let (pace, watch) = (evidence.pace, watchSeconds)
        let strength: Double = self.pace * 0.4 <= pace || isSteady && backoff > 0 ? 8 : 4
        var size = min(max(least, Int((strength * (pace * watch).squareRoot()).rounded(.up)), 1), held.count)
        if !isGrowing {
            guard let affordable = affordable(size, now) else { return }
            size = affordable
            budget.use(cost(of: size), now)
        }
        batch = TryBatch(started: now, size: size, toGo: size, isGrowing: isGrowing)
        phase = .trying
    }

    /// What a try takes of the budget: what is more than came while nothing was handled; all of it once it was a loop.
    private func cost(of size: Int) -> Int {
        if backoff > 0 { return size }
        let idle = evidence.idle
        return max(size - Int(2 * Double(idle.arrived) / max(idle.seconds, 0.1) * watchSeconds), 1)
    }

    /// How many of a try the budget allows; nil when it allows none, and the key is released or waits.
    private mutating func affordable(_ size: Int, _ now: Int64) -> Int? {
        let usual = evidence.pace * watchSeconds
        let left = budget.left(now)
        // A stream that was taken for a loop may end; what it has left is tried one by one.
        let reserve = backoff > 0 && size > 1 ? TryBudget.reserve : 0
        if cost(of: size) <= left - reserve { return size }
        if logRatio > 1 {
            accept(now)
            return nil
        }
        // As many as show against the usual ones, which is never more than that; one more by rounding.
        if isSteady, size <= 33 + Int(usual / 2), budget.takeRevision(now) { return size }
        if left >= 1, evidence.pace < 0.2 { return left }
        quietSince = now
        // Not for an hour at once, if it may still turn out to be a stream, or to be over.
        let refilled = left >= 1 || budget.mayRevise(now) ? now : budget.refilled ?? now
        phase = .waiting(until: max(refilled, now &+ .seconds(left >= 1 ? 15 : 30)))
        return nil
    }

    private mutating func watch(_ now: Int64) {
        let usual = watchSeconds
        // Many at once show a slow loop, too; answers may take ten seconds.
        let seconds = batch.isGrowing && batch.size >= 64 ? min(usual * 2.5, max(usual, 12)) : usual
        backlog.restart()
        phase = .watching(until: now &+ .seconds(seconds))
    }

    /// Weighs what came since the batch was handled.
    private mutating func weigh(_ now: Int64) {
        if let end = backlog.takeEnd(now) {
            phase = .watching(until: end &+ .seconds(watchSeconds))
            return
        }
        let seconds = Double(now.since(batch.started)) / 1e9
        let usual = evidence.pace * seconds
        let spread = (usual + usual * usual / (Double(evidence.arrived) + 0.5)).squareRoot()
        if Double(batch.answers) < usual - 4 * spread - 1 {
            // What came anyway has ended: it was no stream, and may have answered what was handled before.
            doubt(now)
            return listen(now)
        }
        evidence.countsSome = batch.isGrowing || breaches > 0
        let before = evidence.logRatio
        evidence.add(CauseEvidence.Stretch(handled: batch.size, arrived: batch.answers, seconds: seconds))
        let gain = evidence.logRatio - before
        logRatio += gain
        if logRatio <= -2.5 || gain <= -4 {
            hold(for: now)
        } else if logRatio >= 2.2 {
            accept(now)
        } else {
            begin(now, atLeast: evidence.pace < 0.3 ? batch.size * 4 : batch.size)
        }
    }

    /// Waits twice as long as after the last loop.
    private mutating func hold(for now: Int64) {
        doubt(now)
        let doubled = min(backoff.multipliedReportingOverflow(by: 2).partialValue, Self.longestBackoff)
        wait(for: max(doubled, limit.coolDown), now)
    }

    private mutating func wait(for time: Int64, _ now: Int64) {
        backoff = time
        isSteady = false
        quietSince = now
        backlog.restart()
        phase = .waiting(until: now &+ backoff)
    }

    private static let longestBackoff = LoopRate.longestCoolDown.inNanoseconds

    /// Handling causes nothing: releases what is held, or as much of it as is safe.
    private mutating func accept(_ now: Int64) {
        if backoff == 0 { budget.release() }
        let explained = 1.5 * evidence.pace * Double(now.since(openedAt)) / 1e9 + 4
        guard Double(held.count) <= explained else {
            return begin(now, atLeast: batch.size * 4, isGrowing: true)
        }
        trust.pace = max(evidence.pace, min(evidence.highestPace, pace))
        (trust.since, trust.lastUsed, trust.nextLook) = (now, now, now)
        trust.isIndependent = !isMixed
        let isGoingOn = Double(evidence.idle.arrived) >= 0.5 * pace * evidence.idle.seconds
        (trust.isPlainStream, trust.isSuspect) = (isGoingOn && !isPart, !isGoingOn && isPart)
        trust.parts = parts.paces(in: Double(now.since(openedAt)) / 1e9)
        trust.breaches = breaches
        trust.dispersion = dispersion.factor
        // Slower than its limit is no stream that would need trust, but a burst or a loop that is found again.
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

    /// Whether what passed before it opened counts no more; the breaker asks and clears it.
    var isPassesReset = false

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
        held.insert(message)
        // Everything before it may have been released meanwhile; then it is due at once.
        if phase == .closed { phase = .releasing }
    }

    /// The message whose turn it is, oldest first; nil when none is due.
    mutating func takeDue(_ now: Int64, _ others: TimeBins) -> HeldMessage? {
        step(now, others)
        switch phase {
        case .trying where batch.toGo > 0:
            guard let message = held.popFirst() else {
                // Others took them out meanwhile.
                batch.size -= batch.toGo
                batch.toGo = 0
                if batch.running == 0 { watch(now) }
                return nil
            }
            batch.toGo -= 1
            batch.running += 1
            record.addHandled(now)
            return message
        case .releasing where running < Self.mostRunning:
            guard let message = held.popFirst() else {
                if promised == 0, running == 0 { phase = .closed }
                return nil
            }
            running += 1
            record.addHandled(now)
            return message
        default: return nil
        }
    }

    /// Learns that a message whose turn it was has ended.
    mutating func turnEnded(_ now: Int64) {
        if batch.running > 0 {
            batch.running -= 1
            if phase == .trying, batch.toGo == 0, batch.running == 0 { watch(now) }
        } else if running > 0 {
            running -= 1
            if phase == .releasing, held.isEmpty, promised == 0, running == 0 { phase = .closed }
        }
    }

    // MARK: Forgetting

    /// Whether it need be remembered no longer: nothing is held, and nothing that it knows still counts.
    func isOver(_ now: Int64) -> Bool {
        guard held.isEmpty, promised == 0, running == 0, batch.running == 0 else { return false }
        if let latest = budget.latest, now.since(latest) < .seconds(3600) { return false }
        return switch phase {
        case .closed: !isTrusted || now.since(trust.lastUsed) > .seconds(600)
        case .listening(let end), .watching(let end), .waiting(let end):
            now.since(end) >= max(backoff, .seconds(600))
        case .trying, .releasing: true
        }
    }

    /// Whether it can be forgotten when there is no more room.
    var isExpendable: Bool { phase == .closed && promised == 0 && running == 0 }
}
