// Messages that cannot end yet wait until a time: for the next attempt, for their pace, or for the end of a first copy.

import KiiPush

extension PushService {
    /// Lets a delivery wait until it is due; its lane waits too, if `blocks`, so that its messages keep their order.
    func wait(_ delivery: Delivery, until due: MonotonicInstant, blocks: Bool) {
        change { state in
            state.room.putBack(delivery, until: due, blocks: blocks)
            state.wakeTimer(by: due)
        }
    }

    /// Undoes what the stages did that let a message pass, so that the chain is asked again.
    func undo(_ delivery: inout Delivery, _ outcome: Outcome) {
        receiver.chain.settle(delivery.message, outcome, delivery.incoming.passed ?? 0)
        delivery.incoming.passed = nil
    }

    /// Records that an attempt is over, and which routes are done; false if the service has stopped.
    func recordFailure(of delivery: Delivery) async -> Bool {
        await record(failure(of: delivery))
    }

    func failure(of delivery: Delivery) -> InboxRecord {
        let (done, answers) = (delivery.incoming.done, delivery.message.answers?.all ?? [:])
        return .failed(
            delivery.ticket.number, handled: done, answers: answers.filter { done.containsExactly($0.key) })
    }

    /// Lets a message wait for its next attempt, or dead-letters it after the last one.
    func failed(_ delivery: inout Delivery, _ failure: Outcome.Failure, _ ended: inout Ended?) async {
        delivery.shortages = 0
        delivery.cause = ErrorReport.text(failure.error)
        let settings = delivery.ticket.settings
        let isRunning = isRunningAfterFailure()
        if isRunning, delivery.tries >= settings.attempts { return await deadLetter(&delivery, .failed, &ended) }
        // Recorded when the service stops, too, so that it does not look as if it had ended the process.
        guard await recordFailure(of: delivery), isRunning else { return leave(delivery) }
        let pause = settings.pause(after: delivery.tries, jitter())
        tell(
            .retry(
                messageID: delivery.message.id, route: failure.place, attempt: delivery.tries, pause: pause,
                cause: delivery.cause ?? "unknown"))
        wait(delivery, until: clock.now.advanced(by: pause), blocks: settings.onFailure == .block)
    }

    /// Lets a message wait until the machine may have what its handlers lacked; that is no attempt.
    func lacked(_ delivery: inout Delivery) async {
        delivery.incoming.takeBack()
        delivery.shortages += 1
        let begun = InboxRecord.begun(delivery.ticket.number, attempt: delivery.incoming.attempts)
        guard await record(begun, failure(of: delivery)) else { return leave(delivery) }
        let pause = DeliverySettings.pause(afterShortages: delivery.shortages, jitter())
        wait(
            delivery, until: clock.now.advanced(by: pause), blocks: delivery.ticket.settings.onFailure == .block)
    }

    /// Whether the service still runs after a failed attempt; counts an attempt that failed because it was cancelled.
    private func isRunningAfterFailure() -> Bool {
        change { state in
            if state.phase >= .cancelling { state.report.cancelled += 1 }
            return state.isRunning
        }
    }
}

extension DeliverySettings {
    /// How long to wait after consecutive shortages, counted from 1; jitter as for a failure.
    static func pause(afterShortages count: Int, _ jitter: Double) -> Duration {
        var settings = DeliverySettings()
        (settings.backoff, settings.maxBackoff) = (.milliseconds(100), .seconds(10))
        return settings.pause(after: count, jitter)
    }
}
