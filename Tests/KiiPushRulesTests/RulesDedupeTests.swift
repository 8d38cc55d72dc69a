import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushRules
@testable import KiiPushTestSupport

/// Rules that name their messages by a field of the data.
struct RulesDedupeTests {
    private static func file(_ dedupe: String) -> String {
        "{\"version\":1,\"rules\":[\n{\"id\":\"r\",\"then\":{\"handler\":\"h\"},\"dedupe\":\(dedupe)}]}"
    }

    private static let field = "2:49: expected a field of the data, such as \"data.messageId\""

    @Test(
        "each mistake is named with its place",
        arguments: [
            ("7", "2:43: expected an object with by, found a number"), ("{}", "2:43: the key 'by' is missing"),
            (#"{"by":7}"#, "\(field), found a number"), (#"{"by":"messageId"}"#, "\(field), found 'messageId'"),
            (#"{"by":"data."}"#, "\(field), found 'data.'"), (#"{"by":""}"#, "\(field), found an empty string"),
            (#"{"by":"data.\t"}"#, "\(field) without control characters"),
            (#"{"by":"data.a","window":"1s"}"#, "2:58: unknown key 'window'; known: by"),
        ])
    func mistakes(dedupe: String, expected: String) {
        #expect(RulesSamples.problems(Self.file(dedupe)) == [expected])
    }

    @Test("the text after 'data.' is the key, byte for byte")
    func key() throws {
        for key in ["messageId", "a.b", "data.a", "\u{301}x", " "] {
            let rule = try RoutingRules(Self.file("{\"by\":\"data.\(key)\"}")).rules[0]
            #expect(rule.options.dedupe.map { Array($0.key.utf8) } == Array(key.utf8))
            #expect(rule.options.dedupe?.field == "data.\(key)")
        }
        #expect(try RoutingRules(Self.file(#"{"by":"data.a"}"#)).rules[0].dedupePosition?.description == "2:49")
    }

    @Test("the file's own tests see that one id is one message, and that a message without one has automatic keys")
    func ownTests() async throws {
        func step(_ at: Int, _ data: String, _ outcome: String) -> String {
            let payload = #"{"topic":"orders","objectScopeType":"APP","sender":"U1"\#(data)}"#
            return #"{"at":"\#(at)s","payload":\#(payload),"expect":{"outcome":"\#(outcome)"}}"#
        }
        let steps = [
            step(0, #","id":"1","when":1"#, "handled"), step(1, #","id":1,"when":2,"x":3"#, "duplicate"),
            step(2, #","id":"2","when":1"#, "handled"), step(3, #","when":7"#, "handled"),
            step(4, #","when":7"#, "duplicate"), step(5, #","id":"""#, "handled"), step(11, #","id":"""#, "handled"),
            step(500, #","id":"2""#, "duplicate"),
        ]
        let text = """
            {"version":1,"rules":[{"id":"orders","when":{"topic":"orders"},"then":{"handler":"h"},
             "dedupe":{"by":"data.id"}}],
             "tests":[{"name":"orders","steps":[\(steps.joined(separator: ",\n"))]}]}
            """
        for test in try RuleSuite(text: text, file: "r.json") { try await test.run() }
    }

    @Test("rules that are loaded again name the same message by the same id, also when others are before them")
    func loadedAgain() async throws {
        func rules(_ before: String) throws -> RoutingRules {
            try RoutingRules(
                #"{"version":1,"rules":[\#(before){"id":"r","then":{"handler":"h"},"dedupe":{"by":"data.id"}}]}"#)
        }
        let receiver = PushReceiver(rules: try rules(""))
        receiver.register("h") { _, _ in }
        try receiver.load(try rules(""))
        func send(_ sentAt: Int64) async -> String {
            let data: [(String, DataValue)] = [("id", .string("1"))]
            return await "\(receiver.receive(PayloadFixture.pushToUser(sentAt: sentAt, data: data).payload(.long)))"
        }
        #expect(await send(1) == "handled")
        try receiver.load(try rules(#"{"id":"first","when":{"topic":"x"},"then":{"handler":"h"}},"#))
        #expect(await send(2) == "duplicate (done)")
    }
}
