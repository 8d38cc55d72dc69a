import Testing

@testable import KiiPush
@testable import KiiPushRules
@testable import KiiPushTestSupport

/// What data predicates ask for, and that they ask the same of a JSON payload and of one that has only strings.
struct DataPredicateTests {
    /// A predicate in JSON, the value of the key `a` in JSON or nil for none, and whether it holds.
    @Test(
        "a predicate holds for exactly the expected values",
        arguments: [
            // Bare values.
            (#""eco""#, #""eco""#, true), (#""eco""#, #""Eco""#, false), (#""eco""#, nil, false),
            (#""e*o""#, #""eco""#, true), (#""e*o""#, #""ecology""#, false), (#""*""#, #""""#, true),
            (#""*""#, "null", true), (#""*""#, "[1]", true), (#""*""#, nil, false), (#""3*""#, "30", true),
            (#""a*""#, "[1]", false), (#""e.o""#, #""eco""#, false), (#""e.o""#, #""e.o""#, true),
            (#""[a-z]+""#, #""abc""#, false), (#""^a$""#, #""^a$""#, true), (#""""#, #""""#, true),
            (#""""#, "null", false), ("30", "30", true), ("30", #""30""#, true), ("30", "30.0", true),
            (#""30""#, "30", true), ("true", "true", true), ("true", #""true""#, true), ("true", "1", false),
            (#""false""#, "false", true), ("null", "null", true), ("null", #""null""#, false), ("null", nil, false),
            (#"["a","b*",3]"#, #""bcd""#, true), (#"["a","b*",3]"#, #""3""#, true), (#"["a","b*",3]"#, "4", false),
            (#"[{"less":3},{"greater":30}]"#, "31", true), (#"[{"less":3},{"greater":30}]"#, "5", false),
            // A number literal asks for the value, to the last digit; a string literal asks for the text.
            ("21", "2.1e1", true), ("21", "210E-1", true), ("21", #""21.0""#, true), ("21", #""2.1e1""#, true),
            ("21.0", "21", true), ("21", "21.00000000000000000000000000001", false), ("-0.0", "0", true),
            ("0", "0e99999999999999999999", true), ("21", "-21", false), ("21", #""021""#, false),
            ("21", #""21 ""#, false), ("21", #""+21""#, false), ("21", "[21]", false), ("21", "null", false),
            ("9007199254740993", "9007199254740992", false), ("9007199254740993", "9007199254740993.0", true),
            ("9007199254740993", #""9007199254740993""#, true), (#""007""#, "7", false), (#""007""#, #""007""#, true),
            ("7", #""007""#, false), (#""1.10""#, #""1.1""#, false), (#""21""#, "21", true), (#""21""#, "21.0", false),
            ("1e999999999", "10e999999998", true), ("1e999999999", "1e999999998", false),
            ("1e99999999999999999999", "1e99999999999999999999", true),
            ("1e-999999999", "0", false),
            ("21", #""\u0032\u0031.0""#, true), (#"[1,21]"#, "21.0", true),
            (#"{"equals":21}"#, "21.0", true), (#"{"anyOf":[1,21.0]}"#, #""21""#, true),
            (#"{"anyOf":["1","21"]}"#, "21.0", false), (#"{"not":21}"#, "21.0", false),
            (#"{"not":{"anyOf":[1,21]}}"#, "2.1e1", false), (#"{"not":21}"#, "21.5", true),
            // Operators.
            (#"{"equals":"e*o"}"#, #""e*o""#, true), (#"{"equals":"e*o"}"#, #""eco""#, false),
            (#"{"equals":7}"#, #""7""#, true), (#"{"equals":null}"#, "null", true),
            (#"{"anyOf":["a*",7]}"#, #""a*""#, true), (#"{"anyOf":["a*",7]}"#, #""ab""#, false),
            (#"{"anyOf":["a*",7]}"#, "7", true), (#"{"anyOf":["a"]}"#, nil, false),
            (#"{"prefix":"ab"}"#, #""abc""#, true), (#"{"prefix":"ab"}"#, #""a""#, false),
            (#"{"prefix":"a*"}"#, #""abc""#, false), (#"{"prefix":"3"}"#, "30", true),
            (#"{"prefix":""}"#, "[]", false), (#"{"suffix":"bc"}"#, #""abc""#, true),
            (#"{"suffix":"bc"}"#, #""c""#, false), (#"{"suffix":"e"}"#, "true", true), (#"{"suffix":""}"#, nil, false),
            (#"{"greater":30}"#, "31", true), (#"{"greater":30}"#, #""31""#, true), (#"{"greater":30}"#, "30", false),
            (#"{"greater":30}"#, #""30.01""#, true), (#"{"greater":30}"#, #""x""#, false),
            (#"{"greater":30}"#, #"" 31""#, false), (#"{"greater":30}"#, "true", false),
            (#"{"greater":30}"#, nil, false), (#"{"greater":"30"}"#, "31", true), (#"{"greater":-1}"#, "0", true),
            (#"{"greater":9007199254740992}"#, "9007199254740993", true), (#"{"greater":30}"#, "1e2", true),
            (#"{"less":0}"#, "-0.5", true), (#"{"less":0}"#, "-0", false), (#"{"less":1e400}"#, "1e399", true),
            (#"{"exists":true}"#, "null", true), (#"{"exists":true}"#, nil, false),
            (#"{"exists":false}"#, nil, true), (#"{"exists":false}"#, "0", false),
            (#"{"not":"eco"}"#, nil, true), (#"{"not":"eco"}"#, #""eco""#, false), (#"{"not":"eco"}"#, "1", true),
            (#"{"not":{"exists":true}}"#, nil, true), (#"{"not":{"not":"a"}}"#, #""a""#, true),
            (#"{"not":{"not":"a"}}"#, nil, false), (#"{"not":["a","b"]}"#, #""c""#, true),
            (#"{"greater":3,"less":9}"#, "5", true), (#"{"greater":3,"less":9}"#, "9", false),
            (#"{"prefix":"a","not":"abc"}"#, #""abc""#, false), (#"{"prefix":"a","not":"abc"}"#, #""abd""#, true),
            // Escapes in the payload are read before they are compared.
            (#""caf\u00e9""#, #""café""#, true), (#""café""#, #""caf\u00e9""#, true),
            (#"{"suffix":"\"q\""}"#, #""a \"q\"""#, true),
        ] as [(String, String?, Bool)])
    func holds(predicate: String, value: String?, expected: Bool) throws {
        let criteria = try RoutingRules.criteria(#"{"data":{"a":\#(predicate)}}"#)
        for others in ["", #","b":1,"c":"x""#] {
            let payload = "{\"z\":0\(others)\(value.map { ",\"a\":\($0)" } ?? "")}"
            #expect(criteria.takes(try PushMessage(RawPayload(payload))) == expected, "\(payload)")
        }
        // Beside a second condition, which goes another way through the payload.
        let two = try RoutingRules.criteria(#"{"data":{"z":0,"a":\#(predicate)}}"#)
        let payload = "{\"z\":0\(value.map { ",\"a\":\($0)" } ?? "")}"
        #expect(two.takes(try PushMessage(RawPayload(payload))) == expected)
        let none = try RoutingRules.criteria(#"{"data":{"z":1,"a":\#(predicate)}}"#)
        #expect(!none.takes(try PushMessage(RawPayload(payload))))
    }

    @Test("keys are literal root keys of the sender's own data")
    func keys() throws {
        func takes(_ when: String, _ payload: String) throws -> Bool {
            try RoutingRules.criteria(when).takes(PushMessage(RawPayload(payload)))
        }
        #expect(try takes(#"{"data":{"a.b":1}}"#, #"{"a.b":1}"#))
        #expect(try !takes(#"{"data":{"a.b":1}}"#, #"{"a":{"b":1}}"#))
        #expect(try takes(#"{"data":{"a*":1}}"#, #"{"a*":1}"#))
        #expect(try !takes(#"{"data":{"a*":1}}"#, #"{"ab":1}"#))
        #expect(try takes(#"{"data":{"caf\u00e9":1}}"#, #"{"caf\u00E9":1}"#))
        // Two spellings of one letter are two keys.
        #expect(try !takes(#"{"data":{"caf\u00e9":1}}"#, #"{"cafe\u0301":1}"#))
        #expect(try takes(#"{"data":{"topic":{"exists":false}}}"#, #"{"topic":"t"}"#))
    }

    @Test("predicates in code equal those in the file")
    func code() throws {
        let pairs: [(DataPredicate, String)] = [
            ("eco", #""eco""#), ("e*", #""e*""#), (30, "30"), (true, "true"), (["a", 3], #"["a",3]"#), (.null, "null"),
            (.equals("a*"), #"{"equals":"a*"}"#), (.matches(.exactly("a*")), #"{"equals":"a*"}"#),
            (.matches(["a", "b*"]), #"["a","b*"]"#), (.anyOf(["a", "b"]), #"{"anyOf":["a","b"]}"#),
            (.prefix("a"), #"{"prefix":"a"}"#), (.suffix("a"), #"{"suffix":"a"}"#), (.greater(30), #"{"greater":30}"#),
            (.less(2.5), #"{"less":2.5}"#), (.exists(), #"{"exists":true}"#), (.exists(false), #"{"exists":false}"#),
            (.not("a"), #"{"not":"a"}"#), (.all([.greater(3), .less(9)]), #"{"greater":3,"less":9}"#),
            (.all([.greater(3), .greater(4)]), #"{"not":[{"not":{"greater":3}},{"not":{"greater":4}}]}"#),
            (.all(["a*", .suffix("b")]), #"{"not":[{"not":"a*"},{"not":{"suffix":"b"}}]}"#),
            (.less(-.infinity), #"{"less":-1e999}"#), (.any(["a"]), #""a""#),
        ]
        for (predicate, json) in pairs {
            var writer = JSONWriter()
            predicate.write(to: &writer)
            #expect(writer.text == json)
            #expect(try RoutingRules.criteria(#"{"data":{"a":\#(json)}}"#).data == [.data("a", predicate)])
        }
    }
}

/// Numbers compared by their text.
struct DecimalTextTests {
    @Test(
        "compares numbers without rounding",
        arguments: [
            ("0", "1"), ("-1", "0"), ("-2", "-1"), ("9", "10"), ("0.09", "0.1"), ("99e-1", "10"), ("1e2", "101"),
            ("9007199254740992", "9007199254740993"), ("1e308", "1e309"), ("-1e309", "-1e308"),
            ("0.1", "0.10000000000000000000000000001"), ("5e-324", "6e-324"), ("1e-99999999999999999999", "1"),
            ("1", "1E+99999999999999999999"), ("-0.001", "0e5"),
        ])
    func order(smaller: String, larger: String) throws {
        let (left, right) = (try #require(DecimalText(smaller)), try #require(DecimalText(larger)))
        #expect(left < right)
        #expect(!(right < left))
        #expect(left != right)
    }

    @Test(
        "equal numbers are not smaller than each other, however they are written",
        arguments: [("0", "-0"), ("0.0", "0e9"), ("10", "1e1"), ("100.0", "1E+2"), ("0.05", "5e-2"), ("-7.0", "-7")])
    func equality(left: String, right: String) throws {
        let (left, right) = (try #require(DecimalText(left)), try #require(DecimalText(right)))
        #expect(!(left < right))
        #expect(!(right < left))
        #expect(left == right && left.hashValue == right.hashValue)
    }
}

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
