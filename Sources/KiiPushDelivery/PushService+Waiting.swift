// Messages that cannot end yet: they wait for the next attempt, for their pace, or for the first copy.

import KiiPush

extension PushService {
    // MARK: The next attempt

    /// Lets a delivery wait for its next attempt; its lane waits too, if its settings say so.
    func schedule(_ delivery: Delivery, at due: MonotonicInstant) {
        change { state in
            var delivery = delivery
            if delivery.ticket.settings.onFailure != .block { state.lanes.release(&delivery) }
            state.retry(delivery, at: due)
        }
    }

    // MARK: Its pace

    /// Lets a delivery wait until the chain is asked again; its lane waits too, so that its messages keep their order.
    func pace(_ delivery: Delivery, _ until: MonotonicInstant, _ passed: Int, isFirst: Bool) {
        let message = delivery.walk.message
        receiver.chain.settle(message, .paced(until: until), .passed(passed))
        if isFirst { receiver.paced(message, until) }
        change { $0.retry(delivery, at: until) }
    }

    // MARK: Copies

    /// Lets a duplicate wait for the end of the first message, without blocking others.
    func follow(_ delivery: inout Delivery, _ lease: SeenLease) {
        putBackReplaced(&delivery)
        change { state in
            state.lanes.release(&delivery)
            state.copies[delivery.ticket.number] = delivery
        }
        let (number, message) = (delivery.ticket.number, delivery.walk.message)
        start { [self] in
            let outcome = await receiver.wait(for: lease, message)
            let delivery: Delivery? = change { state in
                guard state.phase != .stopped else { return nil }
                let delivery = state.copies.removeValue(forKey: number)
                if delivery != nil { state.ending += 1 }
                return delivery
            }
            guard let delivery else { return }
            await carryOut(.end(outcome), of: delivery)
            change { $0.ending -= 1 }
        }
    }
}
