public import KiiPush

/// A list of payloads with the times at which they come, for a transport to disturb.
///
/// ```swift
/// let plan = DeliveryPlan(payloads, every: .seconds(1))
///     .disturbed(by: [.duplicate(oneIn: 3, within: .seconds(30)), .fail(oneIn: 4, again: .seconds(5))], seed: 42)
/// let receipts = await test.run(plan)
/// ```
///
/// A value: the same payloads, disturbances and seed give the same plan on every machine, so a test that fails prints
/// its seed and fails again.
public struct DeliveryPlan: Sendable {
    /// One thing that happens.
    public struct Step: Sendable {
        /// What happens.
        public enum Event: Sendable {
            /// A payload comes in.
            case deliver(Delivery)
            /// The clock jumps forward by this much, at once.
            case jump(Duration)
        }

        /// When, from the plan's beginning; jumps come on top.
        public var at: Duration
        /// What.
        public var event: Event
    }

    /// A payload that comes in.
    public struct Delivery: Sendable, Hashable {
        /// The payload.
        public var payload: RawPayload
        /// Which payload of the list it is, from 0.
        public let number: Int
        /// How often the transport delivered it before.
        public var copy = 0
        /// The handlers that fail with it, as ``TestReceiver/send(_:failing:)`` takes them.
        public var failing = FailingHandlers.none
    }

    /// What happens, in order of time; what happens at the same time, in the order in which it was planned.
    public private(set) var steps: [Step]

    /// Plans that each payload comes once, in order.
    ///
    /// - Parameters:
    ///   - payloads: the payloads.
    ///   - interval: the time between two of them; the first comes at 0.
    public init(_ payloads: some Sequence<RawPayload>, every interval: Duration = .zero) {
        steps = payloads.enumerated().map { number, payload in
            Step(at: interval * number, event: .deliver(Delivery(payload: payload, number: number)))
        }
    }

    /// The plan as these disturbances leave it, one after the other.
    ///
    /// Each draws from a source of its own, made of the seed and its place: what one does never depends on how often
    /// another one drew.
    ///
    /// - Parameters:
    ///   - disturbances: what happens to it, the first one first.
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
    /// By time; at the same time as before.
    fileprivate var sortedByTime: [DeliveryPlan.Step] {
        enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    }
}

extension TestReceiver {
    /// Sends what a plan says, each payload at its time.
    ///
    /// - Parameter plan: the plan; its times count from now on.
    /// - Returns: the receipt of each delivery, in order, and of what was released between them; what is still held at
    ///   the end ends when the clock is turned on.
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
