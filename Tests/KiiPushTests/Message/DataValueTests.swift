import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct DataValueTests {
    typealias Reading = (value: DataValue, string: String?, integer: Int64?, double: Double?, bool: Bool?)

    @Test(
        "a value is read as text, as a whole number, as a number and as truth, where it can be",
        arguments: [
            (.string("a"), "a", nil, nil, nil), (.string(""), "", nil, nil, nil),
            (.number("1.50"), "1.50", nil, 1.5, nil),
            (.bool(true), "true", nil, nil, true), (.bool(false), "false", nil, nil, false),
            (.null, nil, nil, nil, nil),
            (.array([.string("a")]), nil, nil, nil, nil), (.object([("a", .string("b"))]), nil, nil, nil, nil),
            (.array([]), nil, nil, nil, nil), (.object([]), nil, nil, nil, nil),
            (.number("7"), "7", 7, 7, nil), (.string("7"), "7", 7, 7, nil), (.number("1e3"), "1e3", 1000, 1000, nil),
            (.number("9007199254740993"), "9007199254740993", 9_007_199_254_740_993, 9_007_199_254_740_992, nil),
            (.string("-9223372036854775808"), "-9223372036854775808", Int64.min, -9_223_372_036_854_775_808, nil),
            (.number("9223372036854775808"), "9223372036854775808", nil, 9_223_372_036_854_775_808, nil),
            (.string("25.0"), "25.0", 25, 25, nil), (.string(" 7"), " 7", nil, nil, nil),
            (.string("007"), "007", nil, nil, nil), (.string("seven"), "seven", nil, nil, nil),
            (.array([.number("7")]), nil, nil, nil, nil), (.number("10.5"), "10.5", nil, 10.5, nil),
            (.string("10.5"), "10.5", nil, 10.5, nil), (.string("-1e-3"), "-1e-3", nil, -0.001, nil),
            (.string("1e400"), "1e400", nil, nil, nil), (.string("NaN"), "NaN", nil, nil, nil),
            (.string("inf"), "inf", nil, nil, nil), (.number("1"), "1", 1, 1, true), (.number("0"), "0", 0, 0, false),
            (.string("1"), "1", 1, 1, true), (.string("0"), "0", 0, 0, false), (.number("2"), "2", 2, 2, nil),
            (.string("true"), "true", nil, nil, true), (.string("false"), "false", nil, nil, false),
            (.string("TRUE"), "TRUE", nil, nil, nil), (.string("yes"), "yes", nil, nil, nil),
            (.string(" true"), " true", nil, nil, nil), (.array([.bool(true)]), nil, nil, nil, nil),
        ] as [Reading])
    func readings(_ it: Reading) {
        #expect(it.value.string == it.string && it.value.integer == it.integer)
        #expect(it.value.double == it.double && it.value.bool == it.bool)
    }

    @Test("members and elements are reached step by step, also inside a string that holds an object")
    func subscripts() {
        let value = DataValue.object([
            ("a", .array([.number("1"), .object([("b", .string("c"))])])), ("json", .string(#"{"x":{"y":[true]}}"#)),
            ("text", .string("no json")), ("list", .string("[1,2]")),
        ])
        #expect(value["a"]?[0] == .number("1") && value["a"]?[1]?["b"] == .string("c"))
        #expect(value["a"]?[2] == nil && value["a"]?[-1] == nil && value["a"]?["b"] == nil && value[0] == nil)
        #expect(value["json"]?["x"]?["y"]?[0] == .bool(true) && value["json"]?["z"] == nil)
        #expect(value["text"]?["x"] == nil && value["list"]?["x"] == nil && value["none"] == nil)
        #expect(DataValue.null["a"] == nil && DataValue.number("1")["a"] == nil)
    }

    @Test(
        "a text that is one JSON value is that value; any other is none",
        arguments: [
            (#"{"a":[1,null]}"#, .object([("a", .array([.number("1"), .null]))])), (" [ ] ", .array([])),
            ("\"x\"", .string("x")), ("1.0", .number("1.0")), ("true", .bool(true)), ("null", .null), ("", nil),
            (" ", nil), ("hello", nil), ("[1,]", nil), ("{} {}", nil), ("{\"a\":1", nil), ("01", nil), ("'x'", nil),
        ] as [(String, DataValue?)])
    func json(_ text: String, _ expected: DataValue?) {
        #expect(DataValue(json: text) == expected)
    }

    @Test("JSON in a string has limits too: what is nested too deeply is text")
    func jsonDepth() {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(DataValue(json: nested(32)) != nil)
        #expect(DataValue(json: nested(33)) == nil)
        #expect(DataValue(json: nested(100_000)) == nil)
    }

    @Test("reading an unchecked text stops at its first error")
    func unchecked() {
        for text in ["[tru", "[tru,fals", "[1,[", "[", "{\"a\":tru"] {
            let bytes = Array(text.utf8)
            let kind: JSONToken.Kind = text.hasPrefix("[") ? .array : .object
            switch DataValue(bytes.span, JSONToken(kind, 0, bytes.count)) {
            case .array(let elements):
                #expect(elements.allSatisfy { $0 == .null || $0 == .number("1") || $0 == .array([]) })
            case .object(let members): #expect(members.map(\.value) == [.null])
            default: Issue.record("\(text) is a container")
            }
        }
    }

    @Test("of a duplicate key the first counts")
    func firstCounts() {
        let twice = DataValue.object([("a", .null), ("a", .bool(true))])
        #expect(twice == .object([("a", .null)]) && twice != .object([("a", .bool(true))]))
        #expect(Set([twice, .object([("a", .null)])]).count == 1)
    }

    @Test("objects are equal whatever the order of their members, and hash alike")
    func equality() {
        let left = DataValue.object([("a", .number("1")), ("b", .array([.null]))])
        let right = DataValue.object([("b", .array([.null])), ("a", .number("1"))])
        #expect(left == right && left.hashValue == right.hashValue && Set([left, right]).count == 1)
        #expect(
            left != .object([("a", .number("1"))]) && left != .object([("a", .number("2")), ("b", .array([.null]))]))
        let mixed: [DataValue] = [.null, .bool(true), .bool(false), .string("a"), .number("1"), .array([.null]), left]
        #expect(Set(mixed + mixed).count == mixed.count)
        let numbers: [DataValue] = [.number("21"), .number("21.0"), .number("2.1e1")]
        #expect(Set(numbers).count == 1 && numbers[0] != .number("21.00000000000000000001"))
        #expect(DataValue.number("9007199254740993") != .number("9007199254740992"))
        // To Swift the two spellings of é are one; in a payload they are two keys.
        let twice = DataValue.object([("\u{E9}", .null), ("e\u{301}", .bool(true))])
        #expect(twice != .object([("\u{E9}", .null)]) && twice["\u{E9}"] == .null && twice["e\u{301}"] == .bool(true))
        #expect(twice == .object([("e\u{301}", .bool(true)), ("\u{E9}", .null)]))
        #expect(DataValue.array([.null, .bool(true)]) != .array([.bool(true), .null]))
        #expect(
            DataValue.string("\u{E9}") != .string("e\u{301}") && DataValue.string("1") != .number("1")
                && DataValue.string("true") != .bool(true)
                && DataValue.null != .string(""))
    }
}
