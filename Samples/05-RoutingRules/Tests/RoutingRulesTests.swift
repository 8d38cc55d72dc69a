import KiiPushTesting
import Testing

@Suite("Routing rules")
struct RoutingRulesTests {
    @Test("the rules do what their own tests say", arguments: try RuleSuite(contentsOf: "../rules.json"))
    func rules(_ test: RuleCase) async throws { try await test.run() }
}
