import Testing

@testable import KiiPush
@testable import KiiPushRules

/// Routes printed as rules, and read again; and conditions explained one by one.
struct RuleRoundTripTests {
    @Test("a route prints as a rule that takes the same messages and prints the same again", arguments: 0..<30)
    func roundTrip(seed: UInt64) throws {
        var source = RandomRouting(seed: seed)
        let messages = try (0..<40).map { _ in try PushMessage(source.payload()) }
        for number in 0..<30 {
            let spec = source.route()
            let route = Route("route-\(number)", flow: spec.flow, criteria: spec.criteria)
            // An empty list takes nothing, and the file has no word for it.
            guard !route.rule.contains("[]") else { continue }
            let rules = try RoutingRules("{\"version\":1,\"rules\":[\(route.rule)]}")
            let rule = try #require(rules.rules.first)
            #expect(rule.description == route.rule)
            #expect(rule.id == route.id && rule.flow == route.flow)
            #expect(rule.criteria.certainty == route.criteria.certainty)
            for message in messages { #expect(rule.criteria.takes(message) == route.criteria.takes(message)) }
        }
    }

    @Test("a rule prints all that it says")
    func full() throws {
        let rules = try RoutingRules(RulesSamples.full)
        let printed = rules.rules.map(\.description)
        let again = try RoutingRules("{\"version\":1,\"rules\":[\(printed.joined(separator: ","))]}")
        #expect(again.rules.map(\.description) == printed)
        for (rule, other) in zip(rules.rules, again.rules) {
            #expect(rule.criteria == other.criteria && rule.action == other.action && rule.flow == other.flow)
            #expect(rule.writes == other.writes && rule.delivery == other.delivery && rule.loop == other.loop)
            #expect(rule.dedupe == other.dedupe)
        }
        #expect(rules.rules.map(\.dedupe) == [.by(data: "change.id"), nil, nil])
        #expect(printed[2] == #"{"id":"rest","when":{},"then":{"print":true}}"#)
    }

    @Test("a route of the code prints as the rule that it equals")
    func code() {
        let receiver = PushReceiver()
        receiver.onPushToApp(
            "settings", bucket: ["settings", .exactly("x*")], object: "*", scope: [.app, .user("U1"), .group(nil)],
            events: [.objectUpdated], sender: .thing(), certainty: [.ambiguous],
            options: RouteOptions(then: .continue, dedupe: .by(data: "n"))
        ) { _, _ in }
        #expect(
            receiver.routes[0].rule
                == #"{"id":"settings","when":{"kind":"pushToApp","bucket":["settings",{"equals":"x*"}],"object":"*","#
                + #""scope":["APP","user:U1","APP_AND_GROUP"],"events":"DATA_OBJECT_UPDATED","sender":"thing:*","#
                + #""certainty":"ambiguous"},"then":{"handler":"settings"},"continue":true,"dedupe":{"by":"data.n"}}"#)
    }

    // MARK: Explanations

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
