import Foundation
import KiiPush
import KiiPushRules
import KiiPushTesting
import Testing

@testable import KiiPushTestSupport

/// The code of the test kit's doc comments.
@Suite("Documented code of the test kit", .timeLimit(.minutes(1)))
struct DocumentedTestKitTests {
    private static var path: String {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Rules/settings.json").path
    }

    private let rules: RoutingRules

    init() throws { rules = try RuleSuite(contentsOf: Self.path).rules }

    @Test("the rules do what their tests say", arguments: try RuleSuite(contentsOf: "Rules/settings.json"))
    func rules(_ test: RuleCase) async throws { try await test.run() }

    @Test("the test receiver's own example sends twice and waits")
    func testReceiver() async throws {
        let test = try TestReceiver(rules: rules)
        let push = PayloadFixture.pushToApp(bucket: "settings").payload(.long)
        let first = await test.send(push)
        #expect(first.handlers == ["reload"] && first.settled.disposition == .accept)
        #expect(await test.send(push).outcome.description == "duplicate (done)")
        await test.advance(by: .seconds(601))
        #expect(await test.send(push).outcome.name == "handled")
    }

    @Test("the gate's own example loads rules that pass", arguments: [true, false])
    func gate(isFine: Bool) async throws {
        let receiver = PushReceiver()
        if isFine { receiver.register("reload") { _, _ in } }
        let bytes = Array(try Data(contentsOf: URL(filePath: Self.path)))
        let gate = RulesGate(receiver)
        switch await gate.update(bytes, file: "rules.json") {
        case .loaded(let update): print("generation", update.generation)
        case .refused(let problems): for problem in problems { print(problem) }
        case .overtaken: break
        }
        #expect(receiver.rulesGeneration == (isFine ? 1 : 0))
    }
}

/// Suites of rules files for Swift Testing.
struct RuleSuiteTests {
    @Test("a case has a name and a place, and a failed one lists every difference")
    func cases() async throws {
        let suite = try RuleSuite(
            text: """
                {"version":1,"rules":[],"tests":[
                 {"name":"a","steps":[{"payload":{},"expect":{"outcome":"unrouted"}}]},
                 {"name":"b","steps":[{"payload":{},"expect":{"outcome":"handled","rules":["x"]}}]}]}
                """, file: "r.json")
        #expect(suite.map(\.description) == ["a (r.json:2)", "b (r.json:3)"])
        #expect(suite.map(\.id) == ["r.json:2:2 a", "r.json:3:2 b"])
        try await suite[0].run()
        let error = await #expect(throws: RuleCaseFailed.self) { try await suite[1].run() }
        #expect(
            error?.description.hasPrefix(
                """
                r.json:3:47: test 'b', step 1 (line 3): outcome: expected "handled", found "unrouted"
                r.json:3:67: test 'b', step 1 (line 3): rules: expected ["x"], found []; unknown rule 'x'; there is none
                    stage decode: Direct Push, likely
                """) == true)
    }

    @Test(
        "refuses a file without cases, since an empty suite would pass",
        arguments: [
            (#"{"version":1,"rules":[]}"#, "r.json:1:1: the file has no tests; add a list 'tests'"),
            ("[]", "r.json:1:1: expected an object with the rules, found a list"),
        ])
    func refused(text: String, expected: String) {
        let error = #expect(throws: (any Error).self) { try RuleSuite(text: text, file: "r.json") }
        #expect(error.map { "\($0)" } == expected)
    }
}
