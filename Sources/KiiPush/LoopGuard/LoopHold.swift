import Synchronization

/// Why messages of one key are held by the loop guard, and what happens next.
///
/// ``LoopGuard/holds`` returns all of them, ``LoopGuard/hold(of:)`` the one of a message. Each is a snapshot.
public struct LoopHold: Sendable, Hashable {
    /// The limit that was exceeded.
    public typealias Level = BreakerLevel

    /// The current step of the guard.
    @nonexhaustive
    public enum Step: String, Sendable, Hashable, CaseIterable {
        /// It handles nothing, to see whether messages arrive anyway.
        case listening
        /// It is handling some of them.
        case trying
        /// It has handled some, and checks whether that causes more.
        case watching
        /// Handling them caused more: it is a loop. The guard tries one again later; if the loop is among other
        /// messages, all of them follow then: see ``LoopHold/isAmongOthers``.
        case waiting
        /// Handling them caused nothing: all of them follow in order.
        case releasing
        /// They are trusted, and wait for less than a second, to see whether fewer arrive then.
        case pausing
    }

    /// The limit that was exceeded.
    public let level: Level
    /// The current step of the guard.
    public let step: Step
    /// When the step ends, on the guard's clock; nil if it ends with the handlers that run.
    public let until: MonotonicInstant?
    /// How many messages are held.
    public let messages: Int
    /// When the oldest of them arrived; nil if none is held.
    public let oldest: MonotonicInstant?
    /// How long the key waits after each loop, doubled each time; zero if no loop was found.
    public let backoff: Duration
    /// Whether a loop was found among messages that nothing here causes: after the wait, all of them follow.
    public let isAmongOthers: Bool
}

extension LoopHold {
    /// The current and the next step in one sentence: `too many of one object; watching …`.
    ///
    /// - Parameter now: the present moment on the guard's clock.
    /// - Returns: the sentence, without a full stop.
    public func sentence(at now: MonotonicInstant) -> String {
        let seconds = until.map { max(0, now.duration(to: $0).inNanoseconds) / 1_000_000_000 } ?? 0
        let next =
            switch step {
            case .listening: "nothing is handled, to see what comes anyway; some are tried in \(seconds) s"
            case .trying: "some are being tried"
            case .watching: "some were tried; whether that brought more is known in \(seconds) s"
            case .waiting where isAmongOthers: "some are of a loop; all of them follow in \(seconds) s"
            case .waiting: "handling them brought more, as in a loop; one is tried in \(seconds) s"
            case .releasing: "no loop was found; they follow in their order"
            case .pausing: "handling them caused none; they wait less than a second, to check that again"
            }
        return "too many \(level.words): \(next)"
    }
}

extension LoopHold.Level {
    fileprivate var words: String {
        switch self {
        case .object: "of one object, sender or conversation"
        case .bucket: "of one bucket or topic"
        case .route: "of one route"
        case .device: "in all"
        }
    }
}

extension LoopHold {
    /// The hold of a breaker; nil if it is closed.
    init?(_ breaker: Breaker, _ level: Level) {
        let (step, end): (Step, Int64?)
        switch breaker.phase {
        case .closed: return nil
        case .listening(let until): (step, end) = (.listening, until)
        case .trying: (step, end) = (.trying, nil)
        case .watching(let until): (step, end) = (.watching, until)
        case .waiting(let until): (step, end) = (.waiting, until)
        case .releasing: (step, end) = (.releasing, nil)
        case .pausing(let until): (step, end) = (.pausing, until)
        }
        self.level = level
        self.step = step
        until = end.map { MonotonicInstant(nanoseconds: $0) }
        messages = breaker.heldCount
        oldest = breaker.oldestHeld?.arrivedAt
        backoff = .nanoseconds(breaker.backoff)
        isAmongOthers = breaker.isLoopAmongOthers
    }
}

extension LoopGuard {
    /// The current holds of the rate layer, one for each breaker that is not closed.
    public var holds: [LoopHold] { state.withLock { $0.breakers.holds } }

    /// The hold of a breaker; nil if it is closed.
    func hold(by id: BreakerID) -> LoopHold? {
        state.withLock { state in state.breakers.breaker(id).flatMap { LoopHold($0, id.level) } }
    }

    /// Why each message is held, by its ``HeldMessage/id``; for a list of them, under one lock.
    package var holdsByMessage: [UInt64: LoopHold] { state.withLock { $0.breakers.holdsByMessage } }

    /// Why a message is held; nil if it is no longer held, or is being handled.
    public func hold(of message: HeldMessage) -> LoopHold? {
        state.withLock { $0.breakers.hold(of: message) }
    }
}

extension RateBreakers {
    fileprivate var holds: [LoopHold] {
        tripped.compactMap { id in breaker(id).flatMap { LoopHold($0, id.level) } }
    }

    fileprivate var holdsByMessage: [UInt64: LoopHold] {
        var all: [UInt64: LoopHold] = [:]
        for id in tripped {
            guard let breaker = breaker(id), let hold = LoopHold(breaker, id.level) else { continue }
            for message in breaker.held { all[message.id] = hold }
        }
        return all
    }

    fileprivate func hold(of message: HeldMessage) -> LoopHold? {
        for id in tripped {
            if let breaker = breaker(id), breaker.held.contains(where: { $0 === message }) {
                return LoopHold(breaker, id.level)
            }
        }
        return nil
    }
}
