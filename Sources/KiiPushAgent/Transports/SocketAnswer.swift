import KiiPush
import KiiPushDelivery
import KiiPushSystem
import Synchronization

/// The answer of a ``SocketTransport`` to a line: one JSON object on one line.
enum SocketAnswer {
    /// The payload's outcome, and what its handlers have answered.
    static func ended(_ outcome: Outcome, _ answer: Answer? = nil) -> String {
        line(outcome.name, outcome.disposition, outcome.reason.map(Suggestion.shown), answer)
    }

    /// The payload is on disk, and will be handled.
    static let stored = line("stored", .accept)

    /// The service stopped before it ended.
    static let left = line("left", .retryLater)

    /// The line exceeds the size limit of a payload.
    static let tooLong = line("undecodable", .reject, DecodeError.Code.limitExceeded.rawValue)

    /// The most clients are already connected.
    static let tooManyClients = line("notTaken", .retryLater, "tooManyClients")

    /// The client's user is not allowed.
    static let notAllowed = line("notTaken", .reject, "notAllowed")

    /// The service accepts no more, because it stops.
    static let stopping = line("notTaken", .retryLater, "stopping")

    /// The inbox could not store it.
    static let inboxFailed = line("notTaken", .retryLater, "inboxFailed")

    private static func line(
        _ outcome: String, _ disposition: Disposition, _ reason: String? = nil, _ answer: Answer? = nil
    ) -> String {
        JSONWriter.object { writer in
            writer.member("outcome", outcome)
            writer.member("disposition", disposition.rawValue)
            if let reason { writer.member("reason", reason) }
            if let data = answer?.data {
                writer.member("answer", value: data)
            }
            if let answer, answer.status != .succeeded { writer.member("error", answer.words) }
        } + "\n"
    }
}

/// An answer that must wait for earlier ones, or for its payload's end.
enum DueAnswer {
    case known(String)
    /// The payload was accepted; after the deadline a stored one need not have ended.
    case awaited(AwaitedEnd, isStored: Bool, deadline: ContinuousClock.Instant)

    /// The answer for an accepted payload.
    init(_ receipt: Receipt, deadline: ContinuousClock.Instant, _ signal: ThreadSignal) {
        let end = AwaitedEnd()
        receipt.onEnd { [weak receipt] outcome in
            end.set(outcome, receipt?.answer)
            signal.raise()
        }
        self = .awaited(end, isStored: receipt.isStored, deadline: deadline)
    }

    /// The answer at this time; nil if it must wait.
    ///
    /// While the transport stops, no answer waits beyond `end`.
    func text(at now: ContinuousClock.Instant, stoppingBy end: ContinuousClock.Instant?) -> String? {
        switch self {
        case .known(let text): return text
        case .awaited(let awaited, let isStored, let deadline):
            switch awaited.end {
            case .ended(let outcome, let answer): return SocketAnswer.ended(outcome, answer)
            case .left: return isStored ? SocketAnswer.stored : SocketAnswer.left
            case nil: break
            }
            if isStored, now >= deadline { return SocketAnswer.stored }
            if let end, now >= end { return isStored ? SocketAnswer.stored : SocketAnswer.left }
            return nil
        }
    }

    /// When it is known at the latest; nil if only the payload's end decides.
    var deadline: ContinuousClock.Instant? {
        guard case .awaited(_, true, let deadline) = self else { return nil }
        return deadline
    }
}

/// A payload's outcome, when it is known; set by the task that ended it.
final class AwaitedEnd: Sendable {
    enum End {
        case ended(Outcome, Answer?)
        /// The service stopped first.
        case left
    }

    private let known = Mutex<End?>(nil)

    var end: End? { known.withLock { $0 } }

    func set(_ outcome: Outcome?, _ answer: Answer?) {
        known.withLock { $0 = outcome.map { .ended($0, answer) } ?? .left }
    }
}
