import KiiPush
import KiiPushDelivery
import Synchronization

/// What a ``SocketTransport`` answers for a line: one JSON object on one line.
enum SocketAnswer {
    /// How a payload ended.
    static func ended(_ outcome: Outcome) -> String {
        line(outcome.name, outcome.disposition, outcome.reason.map(Suggestion.shown))
    }

    /// It is on disk, and will be handled.
    static let stored = line("stored", .accept)

    /// The service stopped before it ended.
    static let left = line("left", .retryLater)

    /// The line is longer than a payload may be.
    static let tooLong = line("undecodable", .reject, DecodeError.Code.limitExceeded.rawValue)

    /// There are as many clients as there may be.
    static let tooManyClients = line("notTaken", .retryLater, "tooManyClients")

    /// The client is run by a user who may not.
    static let notAllowed = line("notTaken", .reject, "notAllowed")

    /// The service takes no more, since it stops.
    static let stopping = line("notTaken", .retryLater, "stopping")

    /// The inbox could not keep it.
    static let inboxFailed = line("notTaken", .retryLater, "inboxFailed")

    private static func line(_ outcome: String, _ disposition: Disposition, _ reason: String? = nil) -> String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("outcome", outcome)
            writer.member("disposition", disposition.rawValue)
            guard let reason else { return }
            writer.member("reason", reason)
        }
        return writer.text + "\n"
    }
}

/// An answer whose turn has not come, or whose payload has not ended.
enum DueAnswer {
    case known(String)
    /// The payload was taken in; after the deadline a stored one need not have ended.
    case awaited(AwaitedEnd, isStored: Bool, deadline: ContinuousClock.Instant)

    /// The answer of a payload that was taken in.
    init(_ receipt: Receipt, deadline: ContinuousClock.Instant, _ signal: ThreadSignal) {
        let end = AwaitedEnd()
        receipt.onEnd { outcome in
            end.set(outcome)
            signal.raise()
        }
        self = .awaited(end, isStored: receipt.isStored, deadline: deadline)
    }

    /// What is answered at this time; nil when it is to wait.
    ///
    /// While the transport stops, `end` is when nothing waits any more.
    func text(at now: ContinuousClock.Instant, stoppingBy end: ContinuousClock.Instant?) -> String? {
        switch self {
        case .known(let text): return text
        case .awaited(let awaited, let isStored, let deadline):
            switch awaited.end {
            case .ended(let outcome): return SocketAnswer.ended(outcome)
            case .left: return isStored ? SocketAnswer.stored : SocketAnswer.left
            case nil: break
            }
            if isStored, now >= deadline { return SocketAnswer.stored }
            if let end, now >= end { return isStored ? SocketAnswer.stored : SocketAnswer.left }
            return nil
        }
    }

    /// When it is known at the latest; nil when that is the payload's business.
    var deadline: ContinuousClock.Instant? {
        guard case .awaited(_, true, let deadline) = self else { return nil }
        return deadline
    }
}

/// How a payload ended, as soon as that is known; set by the task that ended it.
final class AwaitedEnd: Sendable {
    enum End {
        case ended(Outcome)
        /// The service stopped before.
        case left
    }

    private let known = Mutex<End?>(nil)

    var end: End? { known.withLock { $0 } }

    func set(_ outcome: Outcome?) { known.withLock { $0 = outcome.map { .ended($0) } ?? .left } }
}
