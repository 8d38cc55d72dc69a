import Testing

@testable import KiiPush
@testable import KiiPushRules
@testable import KiiPushTestSupport

/// Conditions on values inside the sender's data.
struct DataPointerTests {
    private static let data = #"""
        {"temp":{"value":22,"unit":"C","a/b":{"~":1}},"items":[{"id":"a","n":1},{"id":"b"}],"0":"zero","none":[],
         "text":"{\"value\":21.0,\"rooms\":[{\"t\":\"9\"}]}","dup":{"k":1,"k":2},"/odd":true,"flat":7,"half":"{\"value\":1",
         "deep":"\"{\\\"a\\\":1}\"","rooms":{"hall":{"t":19},"bath":{"t":24}},"esc":{"k":"a\"b"}}
        """#

    private static func takes(_ key: String, _ predicate: String, _ data: String = data) throws -> Bool {
        let criteria = try RoutingRules.criteria(#"{"data":{\#(key.quotedAsJSON):\#(predicate)}}"#)
        let message = try PushMessage(RawPayload(data))
        let explained = criteria.explain(message).allSatisfy(\.holds)
        #expect(criteria.takes(message) == explained)
        return explained
    }

    @Test(
        "a key with a slash looks into objects, lists and strings of JSON; other keys are root keys",
        arguments: [
            ("/temp/value", #"{"greater":21}"#, true), ("/temp/value", "22.0", true), ("/temp/value", "23", false),
            ("temp/value", #"{"exists":true}"#, false), ("temp", #"{"exists":true}"#, true),
            ("/temp", #"{"exists":true}"#, true), ("/temp/a~1b/~0", "1", true), ("/items/0/id", #""a""#, true),
            ("/items/1/id", #"["x","b"]"#, true), ("/items/2/id", #"{"exists":false}"#, true),
            ("/items/00/id", #"{"exists":true}"#, false), ("/items/-1/id", #"{"exists":true}"#, false),
            ("/items/-/id", #"{"exists":true}"#, false), ("/0", #""zero""#, true), ("/flat", "7", true),
            ("/flat/x", #"{"exists":true}"#, false), ("/text/value", "21", true), ("/text/rooms/0/t", "9", true),
            ("/text/rooms/*/t", #"{"less":10}"#, true), ("/half/value", #"{"exists":true}"#, false),
            ("/deep/a", #"{"exists":true}"#, false), ("/dup/k", "1", true), ("/dup/k", "2", false),
            ("/~1odd", "true", true), ("/none/0", "*".quotedAsJSON, false), ("/esc/k", #""a\"b""#, true),
            ("/temp/value/x", #"{"not":1}"#, true), ("/missing/a", #"{"not":1}"#, true),
        ])
    func pointers(key: String, predicate: String, isTaken: Bool) throws {
        #expect(try Self.takes(key, predicate) == isTaken)
    }

    @Test(
        "a star means each element or member: one must meet the condition, and none counts as a missing value",
        arguments: [
            ("/items/*/id", #""b""#, true), ("/items/*/id", #""c""#, false), ("/items/*/n", #"{"exists":false}"#, true),
            ("/items/*/id", #"{"exists":false}"#, false), ("/items/*/id", #"{"not":"a"}"#, true),
            ("/items/*", #"{"exists":true}"#, true), ("/none/*", #"{"exists":false}"#, true),
            ("/none/*/id", #"{"not":"a"}"#, true), ("/rooms/*/t", #"{"greater":20,"less":25}"#, true),
            // One value must meet all operators.
            ("/rooms/*/t", #"{"greater":20,"less":24}"#, false), ("/*", #"{"exists":false}"#, true),
        ])
    func stars(key: String, predicate: String, isTaken: Bool) throws {
        #expect(try Self.takes(key, predicate) == isTaken)
    }

    @Test("an explanation shows the value that a pointer leads to, and says how to write one")
    func explained() throws {
        func check(_ key: String) throws -> RouteCheck? {
            try RoutingRules.criteria(#"{"data":{"\#(key)":1}}"#)
                .explain(PushMessage(RawPayload(Self.data))).first { $0.key == key }
        }
        #expect(try check("/temp/value")?.actual == "22")
        #expect(try check("/items/*/id")?.actual == #"["a","b"]"#)
        #expect(try check("/items/9")?.actual == nil)
        #expect(try check("/items/9/id")?.reason == "'/items' has no '/9/id'")
        #expect(try check("/temp/values")?.reason == "'/temp' has no '/values'")
        #expect(try check("/tmp/value")?.reason == nil)
        #expect(try check("temp.value")?.reason == #"'value' is inside 'temp'; write "/temp/value""#)
        #expect(try check("unit")?.reason == #"it is inside 'temp'; write "/temp/unit""#)
        #expect(try check("rooms.hall.t")?.reason == #"'t' is inside 'rooms.hall'; write "/rooms/hall/t""#)
    }

    @Test(
        "a key that begins with a slash and is no pointer is refused at its place",
        arguments: [
            ("/a~2", "write '~0' for '~' and '~1' for '/' in a pointer"), ("/a~", "write '~0' for '~' and"),
            ("/*/a", "the first part of a pointer is a root key"),
            (String(repeating: "/a", count: 33), "a pointer has at most 32 parts"),
        ])
    func refused(key: String, what: String) throws {
        let problems = RulesSamples.problems(RulesSamples.when(#"{"data":{"\#(key)":1}}"#))
        #expect(problems.count == 1 && problems[0].hasPrefix("1:49: \(what)"))
    }

    @Test("the deepest pointer into the deepest payload ends, also with a star at every part")
    func bounded() throws {
        let payload =
            String(repeating: #"{"a":["#, count: 15) + String(repeating: "1,", count: 20_000) + "1"
            + String(repeating: "]}", count: 15)
        let key = "/a" + String(repeating: "/*", count: 31)
        #expect(try !Self.takes(key, #"{"equals":2}"#, payload))
        #expect(try Self.takes("/a" + String(repeating: "/*", count: 29), "1", payload))
    }
}
