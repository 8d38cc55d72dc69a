package import KiiPush

/// A receiver on a clock that only a test advances: when `send` returns, the message has ended or is held.
///
/// Rule tests use one, and `TestReceiver` of KiiPushTesting wraps one for tests in code. Held messages are handled
/// inside `send` and `advance`, when they are due.
package final class ReceiverHarness: Sendable {
    /// The result of one payload.
    package struct Ended: Sendable {
        package let trace: Trace
        /// The rules' cloud actions that were simulated, in order.
        package let cloud: [CloudAction]
        /// Other messages that ended while it was sent, in order.
        package var caused: [Ended] = []
    }

    package let receiver: PushReceiver
    private let clock: any TurnedClock
    private let failures: PlannedFailures
    private let cloud = StandInCloud()

    /// Wraps a receiver that was made with this clock.
    ///
    /// - Parameters:
    ///   - receiver: the receiver.
    ///   - clock: its clock.
    ///   - failure: makes the error that a stand-in throws, from the handler's name.
    package init(_ receiver: PushReceiver, clock: any TurnedClock, failure: @escaping @Sendable (String) -> any Error) {
        (self.receiver, self.clock) = (receiver, clock)
        failures = PlannedFailures(failure)
        receiver.onTrace { trace in HarnessWork.current?.add(trace) }
    }

    // MARK: Sending

    /// Sends a payload, and makes these handlers fail for it, even if it is held first.
    package func send(_ payload: RawPayload, failing handlers: FailingStandIns = .named([])) async -> Ended {
        var id: UInt64?
        let traces = await traces {
            _ = await receiver.receive(payload) { number in
                id = number
                failures.plan(number, handlers)
            }
            await receiver.handleDue()
        }
        // An undecodable payload causes nothing: its trace is the only one.
        guard let own = traces.firstIndex(where: { id == nil || $0.messageID == id }) else {
            preconditionFailure("the receiver made no trace of the payload")
        }
        var result = ended(traces[own])
        result.caused = (traces[..<own] + traces[(own + 1)...]).map { ended($0) }
        forgetFailures(of: traces)
        return result
    }

    /// Sets a wall clock that is not yet set to the sending time of a payload.
    ///
    /// Call it just before sending the payload: the messages of a test or a corpus then keep their relative ages,
    /// whatever the current date.
    package func startWallClock(with payload: RawPayload) {
        guard clock.wallNow == nil, let sentAt = (try? PushMessage(payload))?.sentAt else { return }
        clock.wallNow = sentAt
    }

    // MARK: Time

    /// Advances the clock, handles each held message when it is due, and returns those that ended, in order.
    package func advance(by duration: Duration) async -> [Ended] {
        let end = clock.now.advanced(by: duration)
        return await released {
            while let due = receiver.loopGuard?.nextDue, due <= end {
                if due > clock.now { clock.advance(by: clock.now.duration(to: due)) }
                let outcomes = await receiver.handleDue()
                // Nothing ended or moved: the due message belongs to another receiver of the guard.
                if outcomes.isEmpty, receiver.loopGuard?.nextDue == due { break }
            }
            clock.advance(by: max(clock.now.duration(to: end), .zero))
        }
    }

    /// Switches a target off, by default for the rest of the test, and returns the messages that this ended.
    package func kill(_ target: KillTarget, for duration: Duration = .nanoseconds(Int64.max)) async -> [Ended] {
        await released { receiver.loopGuard?.kill(target, for: duration) }
    }

    /// Performs an action that may end held messages, and returns those that ended, in order.
    package func released(_ body: () async -> Void) async -> [Ended] {
        let traces = await traces(of: body)
        forgetFailures(of: traces)
        return traces.map { ended($0) }
    }

    private func traces(of body: () async -> Void) async -> [Trace] {
        let work = HarnessWork(failures, cloud)
        await HarnessWork.$current.withValue(work) { await body() }
        return work.traces
    }

    private func ended(_ trace: Trace) -> Ended {
        Ended(trace: trace, cloud: cloud.takeActions(for: trace.messageID))
    }

    private func forgetFailures(of traces: [Trace]) {
        guard !failures.isEmpty else { return }
        let held = Set(receiver.held.map(\.messageID))
        for trace in traces where !held.contains(trace.messageID) { failures.forget(trace.messageID) }
    }
}
