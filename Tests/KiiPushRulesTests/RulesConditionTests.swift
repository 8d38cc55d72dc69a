import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushRules
@testable import KiiPushTestSupport

/// What the conditions of rules take.
struct RulesConditionTests {
    private func message(
        scope: String? = "APP_AND_USER", transport: Transport? = nil, change: (inout PayloadFixture) -> Void = { _ in }
    ) throws -> PushMessage {
        var fixture = PayloadFixture.pushToApp(bucket: "settings", object: "o-1", scope: .user(KiiUser(id: "U1")))
        fixture.fields[.scopeType] = scope
        change(&fixture)
        var payload = fixture.payload(.long)
        payload.transport = transport
        return try PushMessage(payload)
    }

    @Test(
        "each condition matches what it should of one message",
        arguments: [
            ("{}", true), (#"{"kind":"pushToApp"}"#, true), (#"{"kind":["pushToUser","directPush"]}"#, false),
            (#"{"kind":"pushTo*"}"#, true), (#"{"kind":"*"}"#, true), (#"{"kind":"direct*"}"#, false),
            (#"{"kind":{"equals":"pushToApp"}}"#, true), (#"{"bucket":"settings"}"#, true),
            (#"{"bucket":"s*s"}"#, true), (#"{"bucket":["x","set*"]}"#, true), (#"{"bucket":"Settings"}"#, false),
            (#"{"bucket":{"equals":"s*"}}"#, false), (#"{"bucket":[{"equals":"settings"}]}"#, true),
            (#"{"bucket":"setting."}"#, false), (#"{"object":"*"}"#, true), (#"{"topic":"*"}"#, false),
            (#"{"scope":"APP_AND_USER"}"#, true), (#"{"scope":["APP","APP_AND_THING"]}"#, false),
            (#"{"scope":"APP_AND_*"}"#, true), (#"{"scope":"*"}"#, true), (#"{"scope":"user:U1"}"#, true),
            (#"{"scope":["app","user:U2"]}"#, false), (#"{"scope":"user:*"}"#, true),
            (#"{"scopeID":"U1"}"#, true), (#"{"scopeID":["U2","U*"]}"#, true), (#"{"scopeID":"u1"}"#, false),
            (#"{"scope":"APP_AND_USER","scopeID":"U2"}"#, false), (#"{"scope":"APP","scopeID":"*"}"#, false),
            (#"{"events":"DATA_OBJECT_*"}"#, true), (#"{"events":["A","DATA_OBJECT_UPDATED"]}"#, false),
            (#"{"certainty":"certain"}"#, true), (#"{"transport":"mqtt"}"#, true), (#"{"transport":"m*"}"#, true),
            (#"{"transport":["fcm","apns"]}"#, false), (#"{"sender":"*"}"#, true), (#"{"sender":"user:U9"}"#, true),
            (#"{"sender":["thing:*","user:U*"]}"#, true), (#"{"sender":"thing:*"}"#, false),
            (#"{"sender":"admin:*"}"#, false), (#"{"bucket":"settings","object":"o-2"}"#, false),
        ])
    func conditions(when: String, takes: Bool) throws {
        let message = try message(transport: .mqtt) { fixture in
            fixture.fields[.type] = "DATA_OBJECT_CREATED"
            fixture.fields[.sender] = "U9"
        }
        #expect(try RoutingRules.criteria(when).takes(message) == takes)
    }

    @Test(
        "a star requires the field",
        arguments: [
            ("scope", "user:x"), ("sender", "user:x"), ("scopeID", "x"), ("transport", "x"), ("events", "x"),
            ("object", "x"),
        ])
    func star(field: String, value: String) throws {
        let bare = try PushMessage(RawPayload(#"{"n":1}"#))
        #expect(try !RoutingRules.criteria(#"{"\#(field)":"*"}"#).takes(bare))
        #expect(try !RoutingRules.criteria(#"{"\#(field)":["*","\#(value)"]}"#).takes(bare))
    }

    @Test("a scope of a type that nobody knows is taken by a star alone")
    func unknownScope() throws {
        let message = try message(scope: "APP_AND_DOG")
        #expect(try RoutingRules.criteria(#"{"scope":"*"}"#).takes(message))
        #expect(try !RoutingRules.criteria(#"{"scope":["APP*"]}"#).takes(message))
        #expect(try !RoutingRules.criteria(#"{"scope":["app","user:*"]}"#).takes(message))
    }

    @Test("a rule takes certain and likely messages, and ambiguous ones only where it says so")
    func certainty() throws {
        #expect(try RoutingRules.criteria("{}").certainty == [.certain, .likely])
        #expect(try RoutingRules.criteria(#"{"certainty":"*"}"#).certainty == [.certain, .likely, .ambiguous])
        #expect(try RoutingRules.criteria(#"{"certainty":["ambiguous"]}"#).certainty == [.ambiguous])
    }

    @Test("the index finds a rule by the id of its scope")
    func index() throws {
        let rules = try RoutingRules(
            #"{"version":1,"rules":["#
                + (0..<200).map { #"{"id":"r\#($0)","when":{"scopeID":"U\#($0)"},"then":{"print":true}}"# }
                .joined(separator: ",") + "]}")
        let table = RouteTable(rules.rules.map { Route($0.id, criteria: $0.criteria) })
        #expect(table.match(try message().storage).routes.ids == ["r1"])
    }
}

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
