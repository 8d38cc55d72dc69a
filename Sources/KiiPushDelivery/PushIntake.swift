public import KiiPush
import Synchronization

/// The interface by which a transport submits its payloads.
///
/// A transport with a thread of its own calls ``submit(_:)`` with all payloads that have arrived, and acknowledges
/// them; if that throws ``IntakeRefusal/full``, it stops reading until ``whenRoom(_:)`` calls it. A transport that is a
/// task calls ``submitWaiting(_:)``.
public struct PushIntake: Sendable {
    let service: any IntakeService
    let transport: String
    /// Called with payloads that were just accepted.
    package var accepted: (@Sendable ([RawPayload]) -> Void)?

    package init(service: any IntakeService, transport: String) {
        self.service = service
        self.transport = transport
    }

    /// Whether accepted payloads survive a crash, so that they may be acknowledged at once.
    public var isDurable: Bool { service.isDurable }

    /// The time on the receiver's clock, for `RawPayload.arrivedAt` of a payload that may wait in the transport; nil
    /// without a receiver.
    public var now: MonotonicInstant? { service.now }

    /// Accepts payloads, all or none, without waiting for capacity; they are on disk when it returns, if the intake is
    /// durable.
    ///
    /// - Parameter payloads: the payloads, in order; at most 64 at once, since all or none are accepted.
    /// - Returns: a receipt for each, in the same order.
    /// - Throws: ``IntakeRefusal``; then none was accepted, and none may be acknowledged.
    public func submit(_ payloads: [RawPayload]) throws(IntakeRefusal) -> [Receipt] {
        let receipts = try service.submit(payloads)
        accepted?(payloads)
        return receipts
    }

    /// Accepts a payload after waiting for capacity; a payload that had to wait is marked as `RawPayload.hasWaited`.
    ///
    /// If the inbox fails, it tries again, with pauses from 100 ms to 10 s. A durable inbox writes on the calling
    /// thread, as in ``submit(_:)``: a task blocks a thread of Swift's pool for one write to the disk,
    /// which may have the payloads of other transports in it.
    ///
    /// - Throws: ``IntakeRefusal/stopping``, also if the waiting task is cancelled; a transport's `run` may throw it
    ///   on.
    public func submitWaiting(_ payload: RawPayload) async throws(IntakeRefusal) -> Receipt {
        var payload = payload
        var pause = Duration.milliseconds(100)
        while true {
            do throws(IntakeRefusal) {
                return try submit([payload])[0]
            } catch .full {
                payload.hasWaited = true
                await service.room()
            } catch .failed {
                await service.pause(pause)
                pause = min(pause * 2, .seconds(10))
            }
            if Task.isCancelled { throw .stopping }
        }
    }

    /// Calls `action` once, when there is capacity again or intake has stopped; at once if there is capacity.
    ///
    /// There is capacity if the last refused payloads fit and a quarter of all places is free. Only wake a thread in
    /// `action`. A later action of the same transport replaces an earlier one that was not called yet.
    public func whenRoom(_ action: @escaping @Sendable () -> Void) { service.whenRoom(action) }

    /// Reports an event of the transport.
    public func report(_ event: TransportEvent) { service.report(event, transport) }

    /// Counts and reports a payload of a network that is dropped unread, since it is larger than the limit in bytes.
    ///
    /// It counts as `undecodable` (`limitExceeded`), and is a gap, at most once a minute; `what` is its name in that.
    package func drop(_ what: String, largerThan limit: Int, network: Transport?) {
        service.drop(what, largerThan: limit, network, of: transport)
    }
}

/// Why payloads were not accepted.
@nonexhaustive
public enum IntakeRefusal: Error {
    /// There is no capacity for them now.
    case full
    /// The service is stopping and accepts no more.
    case stopping
    /// The inbox could not keep them, for example because the disk is full; try again later.
    case failed(any Error)
}

/// The part of a service that an intake uses.
package protocol IntakeService: Sendable {
    var isDurable: Bool { get }
    var now: MonotonicInstant? { get }
    func submit(_ payloads: [RawPayload]) throws(IntakeRefusal) -> [Receipt]
    func room() async
    /// Waits for this time, or until the task is cancelled.
    func pause(_ length: Duration) async
    func whenRoom(_ action: @escaping @Sendable () -> Void)
    func report(_ event: TransportEvent, _ transport: String)
    func drop(_ what: String, largerThan limit: Int, _ network: Transport?, of transport: String)
}

extension IntakeService {
    /// Nil: it has no clock.
    package var now: MonotonicInstant? { nil }
}

/// The state of a payload that a transport has submitted: whether it is safe, and how it ended.
public final class Receipt: Sendable {
    /// Whether the payload is stored on disk, so that it may be acknowledged at once.
    ///
    /// If not, acknowledge it when its ``end()`` returns `Disposition.accept` or `Disposition.reject`.
    public let isStored: Bool

    private let state = Mutex(State.open([]))

    private enum State {
        case open([@Sendable (Outcome?) -> Void])
        case over(Outcome?, Answer?)
    }

    /// Whether the transport passes ``answer`` on.
    package let passesAnswer: Bool

    package init(isStored: Bool, passesAnswer: Bool = false) {
        self.isStored = isStored
        self.passesAnswer = passesAnswer
    }

    /// How it ended; nil while it has not ended, or if the service left it.
    public var outcome: Outcome? { state.withLock { if case .over(let outcome, _) = $0 { outcome } else { nil } } }

    /// What its handlers have answered, once it has ended; nil without an answer, or if the transport cannot pass one
    /// on, see ``TransportAbilities/answers``.
    public var answer: Answer? { state.withLock { if case .over(_, let answer) = $0 { answer } else { nil } } }

    /// Calls `action` once, with the outcome of the payload; nil if the service stopped before it ended.
    ///
    /// It is called at once if the outcome is known, else by the task that ends the payload: only wake a thread in it.
    public func onEnd(_ action: @escaping @Sendable (Outcome?) -> Void) {
        let known: Outcome?? = state.withLock { state in
            switch state {
            case .open(let actions):
                state = .open(actions + [action])
                return nil
            case .over(let outcome, _): return .some(outcome)
            }
        }
        if let known { action(known) }
    }

    /// Waits until the payload has ended.
    ///
    /// Cancelling the task does not end the wait; the service ends each receipt when it stops, at the latest.
    ///
    /// - Returns: how it ended; nil if the service stopped before, and will continue with it only if it is stored.
    public func end() async -> Outcome? {
        await withCheckedContinuation { waiter in onEnd { waiter.resume(returning: $0) } }
    }

    /// Notifies the waiters; only the first end counts.
    package func finish(_ outcome: Outcome?, _ answer: Answer? = nil) {
        let actions = state.withLock { state in
            guard case .open(let actions) = state else { return [] as [@Sendable (Outcome?) -> Void] }
            state = .over(outcome, answer)
            return actions
        }
        for action in actions { action(outcome) }
    }
}
