import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushRules
@testable import KiiPushTestSupport

/// What a rules file is read as.
struct RoutingRulesTests {
    private let rules: RoutingRules

    init() throws { rules = try RoutingRules(RulesSamples.full, file: "r.json") }

    @Test("every setting of the file is read")
    func settings() {
        #expect(rules.version == 1 && rules.app == "0123abcd" && rules.file == "r.json")
        #expect(rules.me == [.user(id: "U1"), .thing(id: "th.x")])
        #expect(rules.serving == [.app, .user("U1"), .group("*"), .thing("*")])
        #expect(rules.dedupe == SeenWindow(age: .seconds(1200), count: 1000, weakAge: .milliseconds(1500)))
        #expect(rules.loop.hops == 4 && rules.loop.echo == .seconds(90))
        #expect(rules.writesAs == [.user(id: "U2")])
        #expect(rules.delivery.attempts == 3 && rules.delivery.backoff == .milliseconds(100))
        #expect(rules.delivery.maxBackoff == .seconds(60) && rules.delivery.timeout == .seconds(3600))
        #expect(rules.delivery.order == .topic && rules.delivery.onFailure == .skip)
    }

    @Test("omitted settings have their documented values")
    func defaults() throws {
        let rules = try RoutingRules(#"{"version":1,"rules":[]}"#)
        #expect(rules.app == nil && rules.me.isEmpty && rules.serving == nil && rules.dedupe == .standard)
        #expect(rules.loop == .standard && rules.writesAs.isEmpty && rules.delivery == DeliverySettings())
        #expect(rules.rules.isEmpty && rules.tests.isEmpty)
        #expect(rules.loop.hops == 8 && rules.loop.echo == .seconds(60))
        #expect(rules.delivery.attempts == 5 && rules.delivery.timeout == .seconds(60))
    }

    @Test("the rules have their conditions, actions and places")
    func theRules() throws {
        #expect(rules.rules.map(\.id) == ["settings", "log", "rest"])
        #expect(
            rules.rules.map(\.action) == [.handler("reload"), .run(["/usr/bin/logger", "-t", "kii push"]), .print])
        #expect(rules.rules.map(\.options.flow) == [.stop, .continue, .stop])
        #expect(rules.rules[0].writes.map(\.uri) == [KiiURI("kiicloud://users/U1/buckets/state")])
        // What a rule does not say is the file's.
        #expect(rules.rules[0].options.delivery?.attempts == 9 && rules.rules[0].options.delivery?.order == .topic)
        #expect(rules.rules[0].options.ownBucket == .allow)
        #expect(rules.rules.map(\.options.pace) == [.every(.milliseconds(2500)), .unlimited, .standard])
        #expect(rules.rules[1].options.ownBucket == .warn && rules.rules[2].options.ownBucket == .warn)
        #expect(rules.rules[0].position == SourcePosition(line: 11, column: 3))
        #expect(rules.rules[0].description == "'settings' (11:3)")
        #expect(rules.rules[0].actionPosition == SourcePosition(line: 15, column: 24))
        let places = rules.rules[0].conditions.map { "\($0.name) \($0.key ?? "-") \($0.position)" }
        #expect(places.first == "kind - 12:13" && places.last == "data mode 14:68")
        #expect(rules.rules.map(\.handlerName) == ["reload", "log", "rest"])
    }

    @Test("the tests have their steps, as the file spells them")
    func theTests() throws {
        let test = try #require(rules.tests.first)
        #expect(test.name == "a repeated update is dropped" && test.position == SourcePosition(line: 21, column: 3))
        #expect(test.steps.map(\.at) == [.zero, .seconds(2), .seconds(2), .seconds(3), .seconds(3)])
        guard case .receive(let first) = test.steps[0].action, case .receive(let second) = test.steps[1].action else {
            throw TestError()
        }
        #expect(first.bytes == Array(#"{"bucketID": "settings", "n": [1, {"a": "b"}]}"#.utf8))
        #expect(first.transport == .mqtt && first.fail == ["reload"])
        #expect(second.bytes == Array(#"{"n":"#.utf8) && second.transport == nil)
        let expect = try #require(test.steps[0].expect)
        #expect(expect.outcome == "handled" && expect.rules == ["settings"] && expect.handlers == ["reload"])
        #expect(expect.positions["rules"] == SourcePosition(line: 23, column: 59))
        let other = try #require(test.steps[1].expect)
        #expect(other.code == "unexpectedEnd" && other.reason == "unexpectedEnd" && other.layer == "identity")
        #expect(other.kind == .directPush && other.certainty == .likely && other.rules == nil)
        #expect(
            test.steps[2...].map(\.action) == [
                .write(try #require(KiiURI("kiicloud://users/U1/buckets/state/objects/o"))), .kill(.route("settings")),
                .revive(.everything),
            ])
        #expect(test.steps[2].expect == nil && test.steps[4].position.line == 28)
    }

    @Test("a payload in a test is kept as it is, even with duplicate keys")
    func payloads() throws {
        let payload = #"{"a":1,"a":{"b":1,"b":2},"unknown":[]}"#
        let rules = try RoutingRules(
            #"{"version":1,"rules":[],"tests":[{"name":"a","steps":[{"payload": \#(payload) }]}]}"#)
        guard case .receive(let incoming) = rules.tests[0].steps[0].action else { throw TestError() }
        #expect(incoming.bytes == Array(payload.utf8))
    }

    @Test("a rule's longest pause is at least its back-off")
    func backoff() throws {
        let rules = try RoutingRules(
            #"""
            {"version":1,"delivery":{"maxBackoff":"10s"},
             "rules":[{"id":"r","then":{"print":true},"delivery":{"backoff":"20s"}}]}
            """#)
        #expect(
            rules.rules[0].options.delivery?.maxBackoff == .seconds(20) && rules.delivery.maxBackoff == .seconds(10))
    }
}
