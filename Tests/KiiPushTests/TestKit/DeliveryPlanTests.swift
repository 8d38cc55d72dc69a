import KiiPush
import KiiPushRules
import KiiPushTesting
import Testing

/// Plans of deliveries, disturbed by the seed.
struct DeliveryPlanTests {
    private static let payloads = (0..<40).map { number in
        PayloadFixture.pushToApp(object: "o-\(number)", sentAt: Int64(number)).payload(.long)
    }

    private static let all: [Disturbance] = [
        .duplicate(oneIn: 3, within: .seconds(20)), .reorder(within: .seconds(5)), .delay(oneIn: 5, upTo: .seconds(30)),
        .fail(oneIn: 4, again: .seconds(2)), .jumpClock(oneIn: 10, upTo: .seconds(20)),
    ]

    /// What a plan says, in short.
    private func short(_ plan: DeliveryPlan) -> [String] {
        plan.steps.map { step in
            switch step.event {
            case .jump(let duration): "\(step.at) jump \(duration)"
            case .deliver(let delivery):
                "\(step.at) \(delivery.number).\(delivery.copy)\(delivery.failing == .none ? "" : " fails")"
            }
        }
    }

    private func deliveries(_ plan: DeliveryPlan) -> [DeliveryPlan.Delivery] {
        plan.steps.compactMap { step in if case .deliver(let delivery) = step.event { delivery } else { nil } }
    }

    @Test("one seed gives one plan, and another one another")
    func seeds() {
        let plan = DeliveryPlan(Self.payloads, every: .seconds(1))
        #expect(short(plan.disturbed(by: Self.all, seed: 7)) == short(plan.disturbed(by: Self.all, seed: 7)))
        #expect(short(plan.disturbed(by: Self.all, seed: 7)) != short(plan.disturbed(by: Self.all, seed: 8)))
        #expect(short(plan.disturbed(by: [], seed: 7)) == short(plan) && plan.steps.last?.at == .seconds(39))
    }

    @Test(
        "each disturbance does what it is called, in order of time, and loses nothing",
        arguments: 0..<20 as Range<UInt64>)
    func effects(seed: UInt64) {
        let plan = DeliveryPlan(Self.payloads, every: .seconds(1))
        func with(_ disturbance: Disturbance) -> DeliveryPlan { plan.disturbed(by: [disturbance], seed: seed) }
        let everything = plan.disturbed(by: Self.all, seed: seed)
        for disturbed in Self.all.map(with) + [everything] {
            #expect(Set(deliveries(disturbed).map(\.number)) == Set(0..<40))
            #expect(zip(disturbed.steps, disturbed.steps.dropFirst()).allSatisfy { $0.at <= $1.at })
        }
        let doubled = deliveries(with(.duplicate(oneIn: 2, within: .seconds(9), marked: true)))
        #expect((50...70).contains(doubled.count) && doubled.allSatisfy { $0.payload.isRedelivered == ($0.copy == 1) })
        let turned = deliveries(with(.reorder(within: .seconds(30)))).map(\.number)
        #expect(turned != turned.sorted() && turned.count == 40)
        let failed = deliveries(with(.fail(oneIn: 2, again: .seconds(1))))
        let failures = failed.filter { $0.failing != .none }
        #expect((10...30).contains(failures.count) && failed.count == 40 + failures.count)
        #expect(failures.allSatisfy { failure in failed.contains { $0.number == failure.number && $0.copy == 1 } })
        let jumps = with(.jumpClock(oneIn: 4, upTo: .seconds(1))).steps.count - 40
        #expect((1...24).contains(jumps))
    }

    @Test(
        "whatever the network does within the window, each message is handled once", arguments: 0..<50 as Range<UInt64>)
    func exactlyOnce(seed: UInt64) async throws {
        let rules = try RoutingRules(
            #"{"version":1,"rules":[{"id":"a","then":{"handler":"h"},"pace":"unlimited"}]}"#)
        let test = try TestReceiver(rules: rules)
        let plan = DeliveryPlan(Self.payloads, every: .seconds(1)).disturbed(by: Self.all, seed: seed)
        let receipts = await test.run(plan)
        #expect(receipts.count == deliveries(plan).count)
        let handled = receipts.filter { $0.outcome.name == "handled" }.compactMap { $0.trace.message?.object?.id }
        #expect(handled.count == 40 && Set(handled).count == 40, "seed \(seed)")
    }

    @Test("what must wait in a burst is handled once too, in order, when the plan goes on")
    func burst() async throws {
        let rules = try RoutingRules(#"{"version":1,"rules":[{"id":"a","then":{"handler":"h"}}]}"#)
        let test = try TestReceiver(rules: rules)
        let same = (0..<30).map { PayloadFixture.pushToUser(sentAt: $0).payload(.long) }
        var receipts = await test.run(DeliveryPlan(same))
        #expect(receipts.count { $0.outcome.name == "paced" } == 10)
        receipts += await test.advance(by: .seconds(3600))
        let handled = receipts.filter { $0.outcome.name == "handled" }.compactMap { $0.trace.message?.sentAt }
        #expect(handled == Array(0..<30))
    }
}
