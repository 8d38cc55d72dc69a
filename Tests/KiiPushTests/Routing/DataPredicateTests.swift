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
            ("1e99999999999999999999", "1e99999999999999999998", false), ("1e-999999999", "0", false),
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

    @Test("all of several predicates hold together, however they are written")
    func all() throws {
        func holds(_ predicate: DataPredicate, _ value: String) throws -> Bool {
            DataCondition.data("a", predicate).holds(for: try PushMessage(RawPayload("{\"a\":\(value)}")))
        }
        let both = DataPredicate.all(["a*", "*b", .not("ab")])
        #expect(try holds(both, #""acb""#))
        #expect(try !holds(both, #""ab""#))
        #expect(try !holds(both, #""bb""#))
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
        #expect(left != right && left.canonical != right.canonical)
    }

    @Test(
        "equal numbers are not smaller than each other, however they are written",
        arguments: [("0", "-0"), ("0.0", "0e9"), ("10", "1e1"), ("100.0", "1E+2"), ("0.05", "5e-2"), ("-7.0", "-7")])
    func equality(left: String, right: String) throws {
        let (left, right) = (try #require(DecimalText(left)), try #require(DecimalText(right)))
        #expect(!(left < right))
        #expect(!(right < left))
        #expect(left == right && left.hashValue == right.hashValue && left.canonical == right.canonical)
    }
}
