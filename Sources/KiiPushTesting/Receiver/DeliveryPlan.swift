public import KiiPush

/// Payloads with the times at which they arrive, which disturbances can change.
///
/// ```swift
/// let plan = DeliveryPlan(payloads, every: .seconds(1))
///     .disturbed(by: [.duplicate(oneIn: 3, within: .seconds(30)), .fail(oneIn: 4, again: .seconds(5))], seed: 42)
/// let receipts = await test.run(plan)
/// ```
///
/// It is a value: the same payloads, disturbances and seed give the same plan on every machine, so a test that prints
/// its seed can be repeated.
public struct DeliveryPlan: Sendable {
    /// One planned event.
    public struct Step: Sendable {
        /// The kind of event.
        public enum Event: Sendable {
            /// A payload arrives.
            case deliver(Delivery)
            /// The clock jumps forward by this duration.
            case jump(Duration)
        }

        /// The time from the plan's beginning; jumps are added to it.
        public var at: Duration
        /// The event.
        public var event: Event
    }

    /// A payload that arrives.
    public struct Delivery: Sendable, Hashable {
        /// The payload.
        public var payload: RawPayload
        /// The payload's index in the list, from 0.
        public let number: Int
        /// How often the transport delivered it before.
        public var copy = 0
        /// The handlers that fail for it, as in ``TestReceiver/send(_:failing:)``.
        public var failing = FailingHandlers.none
    }

    /// The events in order of time; events of the same time keep their order.
    public private(set) var steps: [Step]

    /// Plans that each payload arrives once, in order.
    ///
    /// - Parameters:
    ///   - payloads: the payloads.
    ///   - interval: the time between two of them; the first arrives at 0.
    public init(_ payloads: some Sequence<RawPayload>, every interval: Duration = .zero) {
        steps = payloads.enumerated().map { number, payload in
            Step(at: interval * number, event: .deliver(Delivery(payload: payload, number: number)))
        }
    }

    /// The plan after these disturbances, which are applied in order.
    ///
    /// Each draws from its own generator, seeded by the seed and its position: its effect does not depend on how often
    /// another one drew.
    ///
    /// - Parameters:
    ///   - disturbances: the disturbances, in order.
    ///   - seed: the seed.
    /// - Returns: the disturbed plan.
    public func disturbed(by disturbances: [Disturbance], seed: UInt64) -> DeliveryPlan {
        var plan = self
        for (place, disturbance) in disturbances.enumerated() {
            var dice = SeededGenerator(seed: seed &+ UInt64(place) &* 0xD134_2543_DE82_EF95)
            plan.steps = disturbance.apply(plan.steps, &dice).sortedByTime
        }
        return plan
    }
}

extension [DeliveryPlan.Step] {
    /// By time; events of the same time keep their order.
    fileprivate var sortedByTime: [DeliveryPlan.Step] {
        enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    }
}

extension TestReceiver {
    /// Sends the payloads of a plan, each at its time.
    ///
    /// - Parameter plan: the plan; its times count from now.
    /// - Returns: the receipt of each delivery and of each message that ended in between, in order; messages that still
    ///   wait end when the clock is advanced.
    public func run(_ plan: DeliveryPlan) async -> [TestReceipt] {
        var receipts: [TestReceipt] = []
        var elapsed = Duration.zero
        for step in plan.steps {
            if step.at > elapsed {
                receipts += await advance(by: step.at - elapsed)
                elapsed = step.at
            }
            switch step.event {
            case .jump(let duration): receipts += await jump(by: duration)
            case .deliver(let delivery): receipts.append(await send(delivery.payload, failing: delivery.failing))
            }
        }
        return receipts
    }
}
