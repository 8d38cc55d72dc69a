import KiiPush

/// The effect of a network, a handler or a sleeping device on a plan of deliveries; several can be combined.
///
/// Rates are "one in so many", at least one; times are distributed evenly, in whole milliseconds. Every payload of the
/// plan is still delivered at least once: nothing here loses one.
public struct Disturbance: Sendable {
    let apply: @Sendable ([DeliveryPlan.Step], inout SeededGenerator) -> [DeliveryPlan.Step]

    private init(_ apply: @escaping @Sendable ([DeliveryPlan.Step], inout SeededGenerator) -> [DeliveryPlan.Step]) {
        self.apply = apply
    }

    /// Delivers one in `rate` again, up to `span` later.
    ///
    /// - Parameters:
    ///   - rate: one in how many.
    ///   - span: the longest time until the copy arrives.
    ///   - marked: whether the transport marks it as a redelivery; brokers also duplicate without marking.
    /// - Returns: the disturbance.
    public static func duplicate(oneIn rate: Int, within span: Duration, marked: Bool = false) -> Disturbance {
        eachDelivery { step, delivery, dice in
            guard dice.hits(rate) else { return [step] }
            var copy = delivery
            copy.copy += 1
            copy.failing = .none
            if marked { copy.payload.isRedelivered = true }
            return [step, DeliveryPlan.Step(at: step.at + dice.time(upTo: span), event: .deliver(copy))]
        }
    }

    /// Reorders deliveries: each arrives up to `span` later than planned.
    ///
    /// - Parameter span: the longest delay; reorders if it is longer than the time between two deliveries.
    /// - Returns: the disturbance.
    public static func reorder(within span: Duration) -> Disturbance { delay(oneIn: 1, upTo: span) }

    /// Delays one in `rate`, but not the others.
    ///
    /// - Parameters:
    ///   - rate: one in how many.
    ///   - span: the longest delay.
    /// - Returns: the disturbance.
    public static func delay(oneIn rate: Int, upTo span: Duration) -> Disturbance {
        eachDelivery { step, _, dice in
            guard dice.hits(rate) else { return [step] }
            return [DeliveryPlan.Step(at: step.at + dice.time(upTo: span), event: step.event)]
        }
    }

    /// Makes handlers fail for one in `rate`; the transport then redelivers it.
    ///
    /// - Parameters:
    ///   - rate: one in how many.
    ///   - pause: the time until the redelivery, which succeeds unless a further disturbance makes it fail.
    ///   - handlers: the handlers, as in ``TestReceiver/send(_:failing:)``.
    /// - Returns: the disturbance.
    public static func fail(oneIn rate: Int, again pause: Duration, handlers: FailingHandlers = .all) -> Disturbance {
        eachDelivery { step, delivery, dice in
            guard dice.hits(rate) else { return [step] }
            var (failed, again) = (delivery, delivery)
            failed.failing = handlers
            again.copy += 1
            again.payload.isRedelivered = true
            return [
                DeliveryPlan.Step(at: step.at, event: .deliver(failed)),
                DeliveryPlan.Step(at: step.at + pause, event: .deliver(again)),
            ]
        }
    }

    /// Makes the clock jump forward before one in `rate`, as when a device has slept.
    ///
    /// - Parameters:
    ///   - rate: one in how many.
    ///   - span: the longest jump.
    /// - Returns: the disturbance.
    public static func jumpClock(oneIn rate: Int, upTo span: Duration) -> Disturbance {
        eachDelivery { step, _, dice in
            guard dice.hits(rate) else { return [step] }
            return [DeliveryPlan.Step(at: step.at, event: .jump(dice.time(upTo: span))), step]
        }
    }

    private static func eachDelivery(
        _ body:
            @escaping @Sendable (DeliveryPlan.Step, DeliveryPlan.Delivery, inout SeededGenerator) -> [DeliveryPlan.Step]
    ) -> Disturbance {
        Disturbance { steps, dice in
            steps.flatMap { step in
                guard case .deliver(let delivery) = step.event else { return [step] }
                return body(step, delivery, &dice)
            }
        }
    }
}

extension SeededGenerator {
    fileprivate mutating func hits(_ rate: Int) -> Bool { next() % UInt64(max(rate, 1)) == 0 }

    fileprivate mutating func time(upTo span: Duration) -> Duration {
        let milliseconds = max(span.components.seconds * 1000 + span.components.attoseconds / 1_000_000_000_000_000, 0)
        return .milliseconds(Int64(next() % UInt64(milliseconds + 1)))
    }
}
