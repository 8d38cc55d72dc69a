import KiiPush

/// What a network, a handler or a sleeping device does to a plan of deliveries; several are put one after another.
///
/// Rates are "one in so many", at least one; times are drawn evenly, in whole milliseconds. Whatever happens, each
/// payload of the plan is still delivered at least once: nothing here loses one.
public struct Disturbance: Sendable {
    let apply: @Sendable ([DeliveryPlan.Step], inout SeededGenerator) -> [DeliveryPlan.Step]

    private init(_ apply: @escaping @Sendable ([DeliveryPlan.Step], inout SeededGenerator) -> [DeliveryPlan.Step]) {
        self.apply = apply
    }

    /// Delivers one in `rate` once more, up to `span` later.
    ///
    /// - Parameters:
    ///   - rate: one in how many.
    ///   - span: the longest time until the copy comes.
    ///   - marked: whether the transport says that it is a redelivery; brokers also deliver twice without saying so.
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

    /// Brings deliveries out of order: each comes up to `span` later than planned.
    ///
    /// - Parameter span: the longest delay; longer than the time between two, it turns their order round.
    /// - Returns: the disturbance.
    public static func reorder(within span: Duration) -> Disturbance { delay(oneIn: 1, upTo: span) }

    /// Delays one in `rate`, and none of the others.
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

    /// Lets handlers fail with one in `rate`; its transport delivers it again, as it does what failed.
    ///
    /// - Parameters:
    ///   - rate: one in how many.
    ///   - pause: the time until it comes again; that one fails no more, unless a further disturbance says so.
    ///   - handlers: which ones, as ``TestReceiver/send(_:failing:)`` takes them.
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

    /// Lets the clock jump forward before one in `rate`, as when a device has slept.
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
