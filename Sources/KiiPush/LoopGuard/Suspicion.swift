/// The state of a breaker that has opened: its evidence whether handling causes messages, and the messages that it
/// holds.
///
/// The rate alone cannot distinguish a loop from a busy sensor; causality can. The breaker handles some messages or
/// none, and measures what arrives:
///
/// 1. *Listening*: nothing is handled. Messages that still arrive after the answers under way were not caused here.
/// 2. *Trying*: some held messages are handled together, enough to show against what arrives anyway.
/// 3. *Watching*: do more arrive than before? ``CauseEvidence`` weighs it. If it is undecided, more are tried.
/// 4. If handling caused nothing, all held messages follow: *releasing*. The key is trusted up to the measured pace. A
///    queue that no stream explains is released in batches, each four times the last.
/// 5. If handling caused more, the key waits 2, 4, 8 … seconds, up to an hour, and one message is tried again.
///    ``TryBudget`` bounds the tries that do not end in a release.
///
/// Trust is provisional: for 24 seconds the breaker checks whether arrivals follow the pause that it made, at any delay
/// up to ten seconds. After a breach of trust it listens for longer; from the second breach on it waits first, 30
/// seconds, then 2, 8 and 32 minutes. Later, ``TrustCheck`` looks for a loop whenever more messages arrive than before.
struct Suspicion {
    var phase = Breaker.Phase.closed
    var held = HeldQueue()
    /// Places that are reserved for messages which are about to be held.
    private var promised = 0
    var limit: RateLimit
    /// How long it waits after a loop, or waited after the last one, in nanoseconds.
    var backoff: Int64 = 0

    // Arrivals, and handled messages.
    var record: ArrivalRecord
    var openedAt: Int64 = .min
    /// Since when nothing is handled: it listens, or waits.
    var quietSince: Int64 = .min
    /// The pace at the time of opening, in messages a second.
    var pace = 0.0
    /// Whether its key was part of a stream that a wider breaker trusts.
    var isPart = false
    var evidence = CauseEvidence(arrived: 0, seconds: 0.5, dispersion: 1)
    var dispersion = Dispersion()
    var logRatio = 0.0
    var batch = TryBatch()
    var parts = PartTallies()
    var backlog = Backlog()
    /// How many of the released messages are being handled.
    private var running = 0

    // What earlier rounds showed.
    var doubts = Doubts()
    var budget = TryBudget()
    var isSteady = false
    /// Whether so much else was handled while it listened that this may have caused the arrivals.
    var isMixed = false
    var trust = Trust()

    /// Whether messages that passed before it opened no longer count; the breaker reads and clears it.
    var isPassesReset = false

    /// How many released messages are handled at once.
    private static let mostRunning = 16

    init(_ limit: RateLimit, _ now: Int64) {
        self.limit = limit
        record = ArrivalRecord(now)
    }

    var isTrusted: Bool { trust.pace > 0 }
    /// Whether it is trusted, so that wider breakers need not count what passes.
    var isIndependent: Bool { isTrusted && trust.isIndependent }

    // MARK: Messages that come

    /// Judges a message, and counts it among `passes` if it passes.
    mutating func judge(_ arrival: Arrival, _ limit: RateLimit, _ passes: inout PassWindow) -> Breaker.Answer {
        let now = arrival.now
        self.limit = limit
        note(arrival)
        if phase == .releasing, held.isEmpty, promised == 0, running == 0 { phase = .closed }
        guard phase == .closed || isPausing else { return .hold }
        if isTrusted, now.since(trust.lastUsed) > .seconds(600) { trust.pace = 0 }
        let isOpened = phase == .closed && checkTrust(now)
        if !isOpened, mayPass(now, &passes) {
            passes.add(now, limit.slowSpan, limit: limit.slowMessages)
            // It counts now, and is handled after the pause.
            if isPausing { return .hold }
            record.addHandled(now)
            return isIndependent ? .passTrusted : .pass
        }
        open(now, passes)
        note(arrival)
        return .hold
    }

    private var isPausing: Bool { if case .pausing = phase { true } else { false } }

    /// Records the arrival of a message.
    mutating func note(_ arrival: Arrival) {
        guard arrival.kind != .again else { return }
        record.addArrival(arrival.time, arrival.now)
        if arrival.time > batch.started { batch.answers += 1 }
        backlog.note(arrival)
    }

    /// Records that it holds a message of narrower keys.
    mutating func tally(_ keys: RateKeys, heldBy level: BreakerLevel) { parts.add(keys, heldBy: level) }

    /// The pace up to which it trusts a narrower key: infinite while it holds all of them.
    func partPace(of level: BreakerLevel) -> Double {
        guard phase == .closed else { return .infinity }
        return isIndependent ? trust.parts[level] : 0
    }

    /// Whether it may open by chance, because its key is a part of a wider stream.
    var isUnsuspected: Bool { phase == .closed && !isTrusted && backoff == 0 }

    /// Whether it found a loop among messages that nothing here causes; after a wait, all of them follow.
    var isLoopAmongOthers: Bool { doubts.loopShare != nil }

    private mutating func mayPass(_ now: Int64, _ passes: inout PassWindow) -> Bool {
        guard isTrusted else { return limit.lets(&passes, now) }
        if passes.count(limit.slowSpan, now) > limit.slowMessages / 2 { trust.lastUsed = now }
        return trust.lets(&passes, limit, now)
    }

    private mutating func open(_ now: Int64, _ passes: PassWindow) {
        let isSecondPause = trust.isSecondPause && trust.comparedFrom != nil && now.since(trust.since) < .seconds(100)
        if !isSecondPause {
            record = ArrivalRecord(now)
            doubts.forgetOld(now)
            // It exceeded a pace that was trusted, but not proven.
            if trust.since != .min, !trust.isProven, now.since(trust.since) < .seconds(600) {
                doubts.addBreach()
                doubts.add(now)
            }
            trust = Trust()
            trust.comparedFrom = now
        }
        pace = limit.pace(passes, now)
        isPart = isPart || limit.isRaised
        openedAt = now
        parts = PartTallies()
        listen(now)
        // A loop that shares its key with legitimate messages looks like them while it is held, and starts again once
        // it is released.
        if let time = doubts.wait { wait(for: time, now) }
    }

    mutating func listen(_ now: Int64) {
        quietSince = now
        backlog.restart()
        logRatio = 0
        batch = TryBatch()
        phase = .listening(until: now &+ .seconds(doubts.listening.time))
    }

    // MARK: Steps

    var watchSeconds: Double { doubts.listening.watch }
    /// Whether it opened at so slow a pace that few messages are held while it listens; false if the pace is unknown.
    private var isSlow: Bool { pace > 0 && pace < 3 }
    var isSlowAndUnjudged: Bool { isSlow && backoff == 0 }

    /// When the next step is due; nil if none is, or while its messages are being handled.
    var due: Int64? {
        switch phase {
        case .closed: nil
        case .listening(let end), .watching(let end), .pausing(let end): end
        case .waiting(let end): held.isEmpty ? nil : end
        case .trying: batch.toGo > 0 ? .min : nil
        case .releasing where held.isEmpty: promised == 0 && running == 0 ? .min : nil
        case .releasing: running < Self.mostRunning ? .min : nil
        }
    }

    /// Takes the step that is due; `others` are the messages that were handled meanwhile.
    private mutating func step(_ now: Int64, _ others: TimeBins) {
        switch phase {
        case .listening(let end) where end <= now: endListening(now, others)
        case .watching(let end) where end <= now: weigh(now)
        case .waiting(let end) where end <= now && !held.isEmpty: endWaiting(now, others)
        case .pausing(let end) where end <= now: phase = .releasing
        case .closed, .listening, .watching, .waiting, .trying, .releasing, .pausing: break
        }
    }

    /// Records whether the arrivals since nothing is handled may have been caused by `others`: up to ten for each
    /// handled message, as in a fleet.
    private mutating func compare(_ arrived: Int, with others: TimeBins, _ now: Int64) {
        // Without the first bin, which also counts the last messages of its own.
        let handled = others.count(from: quietSince &+ TimeBins.bin, to: now).count
        isMixed = handled >= 2 && handled * 10 >= arrived
    }

    private mutating func endListening(_ now: Int64, _ others: TimeBins) {
        let listen = doubts.listening
        if let end = backlog.takeEnd(now) {
            // Only arrivals from now on are evidence.
            quietSince = end
            phase = .listening(until: end &+ .seconds(listen.time))
            return
        }
        let start = quietSince &+ .seconds(listen.skip)
        let (first, second) = record.halves(since: start, now)
        let count = first.count + second.count
        let seconds = max(first.seconds + second.seconds, 0.25)
        // Growing or fading arrivals were still under way, or answer messages that others handle.
        let isGrowing = Double(count) / seconds > 4 * pace + 5
        let isChanging =
            first.count >= 8 && second.count * 3 < first.count || second.count >= 12 && first.count * 3 < second.count
        if isGrowing || isChanging, now.since(quietSince) < .seconds(max(16, listen.time + 6)) {
            phase = .listening(until: now &+ .seconds(1.5))
            return
        }
        // A slow stream needs longer before enough of it is held to show against chance.
        if isSlow, held.count < Listening.fewestOfSlow, now.since(quietSince) < .seconds(Listening.longestOfSlow) {
            phase = .listening(until: now &+ .seconds(0.5))
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
        // A slow stream takes some time to be recognised.
        if count >= 2, count < 8, seconds < 6, budget.mayRevise(now) {
            phase = .waiting(until: now &+ .seconds(1))
            return
        }
        dispersion.add(record.arrivalsOfSeconds(since: start, now))
        budget.endRevision()
        compare(count, with: others, now)
        let usual = evidence.idle.seconds > 0 ? Double(evidence.idle.arrived) / evidence.idle.seconds * seconds : 0
        if usual > 0, Double(count) > 1.5 * usual + 4 * usual.squareRoot() + 4 {
            // More and more arrive while nothing is handled: others still cause them, and a try would show nothing.
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
        // All follow: a try of some would hardly handle one of the loop's messages, and look like no loop.
        if doubts.loopShare != nil { return accept(now) }
        // The last verdict was a loop.
        logRatio = -1.5
        begin(now)
    }

    // MARK: Held messages

    /// Reserves a place, if one is left.
    mutating func promise(upTo most: Int) -> Bool {
        guard held.count + promised < most else { return false }
        promised += 1
        // The wait ends early, because most messages are honest ones, which must not be lost.
        if doubts.loopShare != nil, case .waiting = phase, held.count + promised >= most - most / 4 {
            phase = .waiting(until: quietSince)
        }
        return true
    }

    /// Puts a message into its reserved place.
    mutating func hold(_ message: HeldMessage) {
        promised -= 1
        held.insert(message)
        // All messages before it may have been released meanwhile; then it is due at once.
        if phase == .closed { phase = .releasing }
    }

    /// The message whose turn it is, oldest first; nil if none is due.
    mutating func takeDue(_ now: Int64, _ others: TimeBins) -> HeldMessage? {
        step(now, others)
        switch phase {
        case .trying where batch.toGo > 0:
            guard let message = held.popFirst() else {
                // Somebody removed them meanwhile.
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

    /// Called when a message that had its turn has ended.
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

    /// Whether it can be forgotten: no message is held, and no result still counts.
    func isOver(_ now: Int64) -> Bool {
        guard held.isEmpty, promised == 0, running == 0, batch.running == 0 else { return false }
        if let latest = budget.latest, now.since(latest) < .seconds(3600) { return false }
        return switch phase {
        case .closed: !isTrusted || now.since(trust.lastUsed) > .seconds(600)
        case .listening(let end), .watching(let end), .waiting(let end), .pausing(let end):
            now.since(end) >= max(backoff, .seconds(600))
        case .trying, .releasing: true
        }
    }

    /// Whether it can be forgotten if the capacity is used up.
    var isExpendable: Bool { phase == .closed && promised == 0 && running == 0 }
}
