package import KiiPush
import Synchronization

/// A receiver on a clock that only a test advances, and a transport that delivers again what has to wait.
///
/// Rule tests use one, and `TestReceiver` of KiiPushTesting wraps one for tests in code. When `send` returns, the
/// message has ended or waits for its pace; `advance` delivers those again that are due.
package final class ReceiverHarness: Sendable {
    package struct Ended: Sendable {
        package let trace: Trace
        /// The number of the message's first delivery, if this one is another.
        package var first: UInt64? = nil
        /// What the sender of the command would get; nil if it is none, or has not ended.
        package var answer: Answer? = nil
        /// The rules' cloud actions that were simulated, in order.
        package let cloud: [CloudAction]
        /// Other messages that ended while it was sent, in order.
        package var caused: [Ended] = []
    }

    package let receiver: PushReceiver
    private let clock: any TurnedClock
    private let standIns = StandIns()
    private let waiting = Mutex<[Waiting]>([])

    private struct Waiting {
        let due: MonotonicInstant
        let payload: RawPayload
        let failing: [String]
        let first: UInt64
    }

    package init(_ receiver: PushReceiver, clock: any TurnedClock) {
        (self.receiver, self.clock) = (receiver, clock)
        // Not what a handler causes in another receiver, whose messages have the same numbers.
        receiver.onTrace { [standIns] trace in
            if let work = HarnessWork.current, work.standIns === standIns { work.add(trace) }
        }
    }

    // MARK: Sending

    /// Sends a payload, and makes these stand-ins fail for it, whenever they are called.
    package func send(_ payload: RawPayload, failing handlers: [String] = []) async -> Ended {
        var payload = payload
        payload.arrivedAt = payload.arrivedAt ?? clock.now
        return await send(payload, handlers, first: nil)
    }

    private func send(_ given: RawPayload, _ handlers: [String], first: UInt64?) async -> Ended {
        var payload = given
        var (id, answer): (UInt64?, Answer?) = (nil, nil)
        let work = HarnessWork(standIns)
        await HarnessWork.$current.withValue(work) {
            answer = await receiver.receive(payload) { number in
                id = number
                standIns.plan(number, handlers)
            }
        }
        let traces = work.traces
        // An undecodable payload causes nothing: its trace is the only one.
        guard let own = traces.firstIndex(where: { id == nil || $0.messageID == id }) else {
            preconditionFailure("the receiver made no trace of the payload")
        }
        var result = ended(traces[own])
        (result.first, result.answer) = (first, answer)
        result.caused = (traces[..<own] + traces[(own + 1)...]).map { ended($0) }
        if case .paced(let time) = result.trace.outcome {
            payload.isRedelivered = true
            // Not at once, or a middleware that names a time which is over would be asked without end.
            let due = max(time, clock.now.advanced(by: .milliseconds(1)))
            let again = Waiting(due: due, payload: payload, failing: handlers, first: first ?? result.trace.messageID)
            waiting.withLock { waiting in
                waiting.insert(again, at: waiting.firstIndex { $0.due > due } ?? waiting.endIndex)
            }
        }
        return result
    }

    /// Sets a wall clock that is not yet set to the sending time of a payload.
    ///
    /// Call it just before sending the payload: the messages of a test or a corpus then keep their relative ages,
    /// whatever the current date.
    package func startWallClock(with payload: RawPayload) {
        guard clock.wallNow == nil, let sentAt = (try? receiver.decode(payload))?.sentAt else { return }
        clock.wallNow = sentAt
    }

    // MARK: Time

    /// When the next payload is delivered again; nil if none waits.
    package var nextDue: MonotonicInstant? { waiting.withLock { $0.first?.due } }

    /// Advances the clock, delivers each payload again when it is due, and returns those that ended, in order.
    package func advance(by duration: Duration) async -> [Ended] {
        let end = clock.now.advanced(by: duration)
        var all: [Ended] = []
        while let next = waiting.withLock({ waiting in
            waiting.first.flatMap { $0.due <= end ? waiting.removeFirst() : nil }
        }) {
            if next.due > clock.now { clock.advance(by: clock.now.duration(to: next.due)) }
            let ended = await send(next.payload, next.failing, first: next.first)
            if case .paced = ended.trace.outcome { all += ended.caused } else { all.append(ended) }
        }
        clock.advance(by: max(clock.now.duration(to: end), .zero))
        return all
    }

    private func ended(_ trace: Trace) -> Ended {
        Ended(trace: trace, cloud: standIns.takeActions(for: trace.messageID))
    }
}
