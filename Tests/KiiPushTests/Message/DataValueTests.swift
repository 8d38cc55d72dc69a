import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct DataValueTests {
    @Test(
        "text is that of a string, number or boolean",
        arguments: [
            (.string("a"), "a"), (.string(""), ""), (.number("1.50"), "1.50"), (.bool(true), "true"),
            (.bool(false), "false"), (.null, nil), (.array([.string("a")]), nil), (.object([("a", .string("b"))]), nil),
        ] as [(DataValue, String?)])
    func string(_ value: DataValue, _ expected: String?) {
        #expect(value.string == expected)
    }

    @Test(
        "a whole number is that of a number or a string",
        arguments: [
            (.number("7"), 7), (.string("7"), 7), (.number("9007199254740993"), 9_007_199_254_740_993),
            (.string("-9223372036854775808"), Int64.min), (.number("1e3"), 1000), (.string("25.0"), 25),
            (.string(""), nil),
            (.string(" 7"), nil), (.string("007"), nil), (.string("seven"), nil), (.number("9223372036854775808"), nil),
            (.bool(true), nil), (.null, nil), (.array([.number("7")]), nil), (.object([]), nil),
        ] as [(DataValue, Int64?)])
    func integer(_ value: DataValue, _ expected: Int64?) {
        #expect(value.integer == expected)
    }

    @Test(
        "a number is that of a number or a string",
        arguments: [
            (.number("10.5"), 10.5), (.string("10.5"), 10.5), (.string("-1e-3"), -0.001), (.number("0"), 0),
            (.string("1e400"), nil), (.string("NaN"), nil), (.string("inf"), nil), (.string(""), nil),
            (.bool(false), nil), (.null, nil), (.array([]), nil),
        ] as [(DataValue, Double?)])
    func double(_ value: DataValue, _ expected: Double?) {
        #expect(value.double == expected)
    }

    @Test(
        "truth is a boolean, 0 or 1, or a string of the same text",
        arguments: [
            (.bool(true), true), (.bool(false), false), (.number("1"), true), (.number("0"), false),
            (.string("true"), true), (.string("false"), false), (.string("1"), true), (.string("0"), false),
            (.string("TRUE"), nil), (.string("yes"), nil), (.string(""), nil), (.string(" true"), nil),
            (.number("2"), nil), (.null, nil), (.array([.bool(true)]), nil),
        ] as [(DataValue, Bool?)])
    func bool(_ value: DataValue, _ expected: Bool?) {
        #expect(value.bool == expected)
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

    @Test("JSON in a string has limits as well: a deep one is no JSON")
    func jsonDepth() {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(DataValue(json: nested(32)) != nil)
        #expect(DataValue(json: nested(33)) == nil)
        #expect(DataValue(json: nested(100_000)) == nil)
    }

    @Test("of a duplicate key the first counts")
    func firstCounts() {
        let twice = DataValue.object([("a", .null), ("a", .bool(true))])
        #expect(twice == .object([("a", .null)]) && twice != .object([("a", .bool(true))]))
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
