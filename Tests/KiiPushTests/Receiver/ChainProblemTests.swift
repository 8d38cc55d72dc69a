import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushRules
@testable import KiiPushTestSupport

/// One clock for a chain, and what is said of chains that are put together wrongly.
struct ChainProblemTests {
    private let clock = ManualClock(start: .seconds(1000))
    private let payload = PayloadFixture.pushToApp().payload(.long)

    // MARK: The clock

    @Test("middlewares without a clock use the receiver's")
    func receiversClock() async throws {
        let loopGuard = LoopGuard()
        let receiver = PushReceiver(clock: clock) {
            Deduplicator()
            loopGuard
            ScopeFilter()
        }
        receiver.onAny(id: "r") { _, _ in }
        let test = try TestReceiver(receiver)
        #expect(await test.send(payload).outcome.name == "handled")
        #expect(await test.send(payload).outcome.description == "duplicate (done)")
        loopGuard.kill(.everything, for: .seconds(30))
        #expect(loopGuard.killedUntil == [.everything: .seconds(1030)])
        await test.advance(by: .seconds(599))
        #expect(loopGuard.killed.isEmpty)
        #expect(await test.send(payload).outcome.description == "duplicate (done)")
        await test.advance(by: .seconds(1))
        #expect(await test.send(payload).outcome.name == "handled")
    }

    @Test("a guard shared by several receivers uses their common clock")
    func shared() {
        let loopGuard = LoopGuard()
        let given = LoopGuard(clock: clock)
        let receivers = (0..<2).map { _ in
            [PushReceiver(clock: clock) { loopGuard }, PushReceiver(clock: clock) { given }]
        }
        #expect(receivers.count == 2 && loopGuard.clock.now == .seconds(1000) && given.clock.now == .seconds(1000))
        // Clocks of the system all tell the same time.
        let system = LoopGuard(clock: SystemClock())
        for _ in 0..<2 { #expect(PushReceiver { system }.loopGuard === system) }
    }

    @Test("a middleware whose clock differs from its receiver's traps at once")
    func otherClock() async {
        await #expect(processExitsWith: .failure) {
            _ = PushReceiver(clock: ManualClock()) { Deduplicator(clock: ManualClock()) }
        }
        await #expect(processExitsWith: .failure) {
            _ = PushReceiver(clock: ManualClock()) { LoopGuard(clock: SystemClock()) }
        }
        await #expect(processExitsWith: .failure) {
            let loopGuard = LoopGuard()
            _ = PushReceiver(clock: ManualClock()) { loopGuard }
            _ = PushReceiver(clock: ManualClock()) { loopGuard }
        }
    }

    // MARK: The chain

    @Test("two deduplicators or two loop guards in one chain trap at once")
    func repeated() async {
        await #expect(processExitsWith: .failure) {
            _ = PushReceiver {
                Deduplicator()
                Deduplicator()
            }
        }
        await #expect(processExitsWith: .failure) {
            _ = PushReceiver {
                LoopGuard()
                LoopGuard()
            }
        }
    }

    /// Middlewares, first to last, by their first letters, and what is wrong with them.
    static let chains: [(chain: String, problems: [ChainProblem])] = [
        ("", []), ("d", []), ("g", []), ("s", []), ("dgs", []), ("dg", []), ("ds", []), ("gs", []), ("adagasa", []),
        ("gd", [.guardBeforeDeduplicator]), ("gads", [.guardBeforeDeduplicator]),
        ("sd", [.scopeFilterBeforeDeduplicator]), ("dsg", [.scopeFilterBeforeGuard]),
        ("sdg", [.scopeFilterBeforeDeduplicator, .scopeFilterBeforeGuard]),
        ("sgd", [.guardBeforeDeduplicator, .scopeFilterBeforeDeduplicator, .scopeFilterBeforeGuard]),
        ("dgss", [.twoScopeFilters]), ("dsgs", [.scopeFilterBeforeGuard, .twoScopeFilters]),
    ]

    @Test("reports middlewares in the wrong order, and still passes messages", arguments: chains)
    func order(chain: String, problems: [ChainProblem]) async {
        let receiver = PushReceiver(clock: clock) {
            for middleware in chain {
                switch middleware {
                case "d": Deduplicator()
                case "g": LoopGuard()
                case "s": ScopeFilter()
                default: Probe("a", EventLog())
                }
            }
        }
        #expect(receiver.chainProblems == problems)
        #expect(receiver.middleware.count == chain.count)
        #expect(Set(problems.map(\.description)).count == problems.count)
        receiver.onAny { _, _ in }
        #expect(await receiver.receive(payload).name == "handled")
    }

    @Test("a receiver's own chain has no problems")
    func standard() throws {
        #expect(PushReceiver().chainProblems.isEmpty)
        let rules = try RoutingRules(#"{"version":1,"rules":[]}"#, file: "r.json")
        #expect(PushReceiver(rules: rules).chainProblems.isEmpty)
    }
}
