import Testing

@testable import KiiPush
@testable import KiiPushRules
@testable import KiiPushTestSupport

/// The conditions of routes as text, and explained one by one.
struct RuleExplanationTests {
    @Test("the text of conditions, parsed again, matches the same messages", arguments: 0..<30)
    func roundTrip(seed: UInt64) throws {
        var source = RandomRouting(seed: seed)
        let messages = try (0..<40).map { _ in try PushMessage(source.payload()) }
        for number in 0..<30 {
            let spec = source.route()
            let text = LintSamples.rule(Route("route-\(number)", flow: spec.flow, criteria: spec.criteria))
            // An empty list matches no message, and a rules file cannot express it.
            guard !text.contains("[]") else { continue }
            let rule = try #require(try RoutingRules(LintSamples.file([text])).rules.first)
            #expect(rule.criteria.certainty == spec.criteria.certainty)
            for message in messages { #expect(rule.criteria.takes(message) == spec.criteria.takes(message)) }
        }
    }

    @Test("the checks of a route hold together just when it takes the message", arguments: 0..<30)
    func explanations(seed: UInt64) throws {
        var source = RandomRouting(seed: seed &+ 1000)
        for _ in 0..<300 {
            var criteria = source.route().criteria
            criteria.data = [.data("bucketID", .exists(false)), .data("n", .not(3))].filter { _ in
                source.count(in: 0...1) == 0
            }
            if source.count(in: 0...3) == 0 { criteria.transport = "m*" }
            let message = try PushMessage(source.payload())
            let checks = criteria.explain(message)
            let content = checks.filter { $0.name != "certainty" }
            #expect(content.allSatisfy(\.holds) == criteria.takes(message))
            #expect(
                checks.filter { $0.name == "certainty" }.map(\.holds) == [
                    criteria.certainty.contains(message.certainty)
                ])
        }
    }

    @Test("every condition is explained, also behind the first that fails, with what is expected and what is there")
    func explanation() throws {
        let rule = try RoutingRules(
            RulesSamples.when(
                #"{"kind":"pushToUser","topic":["a","b*"],"sender":"user:U1","transport":"mqtt","data":{"temp":{"greater":30},"mode":"eco"}}"#
            ))
        let payload = #"{"topic":"news","sender":"U1","objectScopeType":"APP","temp":"31"}"#
        let checks = rule.rules[0].explain(try PushMessage(RawPayload(payload)))
        #expect(
            checks.map { "\($0.name) \($0.key ?? "-") \($0.expected) \($0.actual ?? "-") \($0.holds)" } == [
                #"kind - "pushToUser" "pushToUser" true"#, #"topic - ["a","b*"] "news" false"#,
                #"sender - "user:U1" "user:U1" true"#, #"transport - "mqtt" - false"#,
                #"certainty - ["certain","likely"] "certain" true"#, #"data temp {"greater":30} "31" true"#,
                #"data mode "eco" - false"#,
            ])
    }
}
