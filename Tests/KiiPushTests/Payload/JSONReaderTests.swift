import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// Every rule of RFC 8259, kept and broken.
struct JSONReaderTests {
    @Test(
        "accepts everything that the grammar allows",
        arguments: [
            "{}", " { } ", "\t\r\n{\t\r\n}\t\r\n ", "{\"\":\"\"}", "{ \"a\" : 1 , \"b\" : 2 }",
            #"{"a":true,"b":false,"c":null}"#, #"{"a":0,"b":-0,"c":1,"d":-1,"e":10,"f":1234567890}"#,
            #"{"a":0.5,"b":-0.5,"c":1.25,"d":0.000,"e":10.010}"#,
            #"{"a":1e0,"b":1E0,"c":1e+5,"d":1e-5,"e":1.5E+300,"f":0e0,"g":-0.0e-0,"h":1e007}"#,
            #"{"a":1e999999999,"b":-1e-999999999,"c":123456789012345678901234567890123456789012345678901234567890}"#,
            #"{"a":[],"b":{},"c":[[]],"d":[{}],"e":{"f":{}},"g":[1,"2",true,null,{"h":[]}]}"#,
            "{\"a\":[ ],\"b\":{ },\"c\":[ 1 , 2 ],\"d\":{ \"e\" : 1 }}", #"{"a":"\"\\\/\b\f\n\r\t"}"#,
            #"{"a":"\u0000\u001f\u007F\u00e9\uFFFF\uABCD\uabcd"}"#, #"{"a":"\ud83d\ude00\uD800\uDC00\uDBFF\uDFFF"}"#,
            "{\"a\":\"\u{7F}é€😀\u{FEFF}\u{2028}\u{10FFFF}\"}", "{\"é\":1,\"😀\":2}",
            #"{"a'b":"/*no comment*/ //nor here"}"#,
        ])
    func accepts(_ text: String) throws {
        _ = try PushMessage(json: text)
    }

    @Test(
        "refuses an unexpected character where it stands",
        arguments: [
            // Commas.
            #"{"a":1,↓}"#, #"{↓,"a":1}"#, #"{"a":1,↓,"b":2}"#, #"{"a":1 ↓"b":2}"#, #"{↓,}"#, #"{"a":[1,↓]}"#,
            #"{"a":[↓,1]}"#, #"{"a":[1,↓,2]}"#, #"{"a":[1 ↓2]}"#, #"{"a":[↓,]}"#, #"{"a":{"b":1,↓}}"#,
            #"{"a":1↓;"b":2}"#,
            // Colons.
            #"{"a"↓}"#, #"{"a" ↓1}"#, #"{"a":↓:1}"#, #"{"a"↓=1}"#, #"{"a"↓,"b":1}"#, #"{"a":{"b"↓}}"#,
            #"{"a":["b"↓:1]}"#,
            // Missing and wrong values and keys.
            #"{"a":↓}"#, #"{"a":↓,"b":1}"#, #"{↓a:1}"#, #"{↓1:1}"#, #"{↓null:1}"#, #"{↓{}:1}"#, #"{↓'a':1}"#,
            #"{"a":↓'b'}"#, #"{"a":{↓b:1}}"#, #"{"a":1,↓b:1}"#,
            // Brackets that do not match.
            #"{"a":[1↓}}"#, #"{"a":{"b":1↓]}"#, #"{"a":[↓}}"#, #"{"a":{↓]}"#, #"{"a":1↓]"#, #"{↓]"#, #"{"a":[[1]↓}}"#,
            // Comments, and more than one value.
            #"↓/*a*/{}"#, #"{↓/*a*/}"#, #"{"a":1↓//b"#, #"{"a":↓#b"#, #"{}↓{}"#, #"{} ↓1"#, #"{}↓}"#, #"{}↓,"#,
            #"{"a":1}↓garbage"#, "{}↓\u{0}",
            // White space that is none to JSON.
            "↓\u{0B}{}", "↓\u{0C}{}", "{\"a\":↓\u{A0}1}", "{\"a\":↓\u{2028}1}", "{\"a\":↓\u{0}1}", "↓\u{0}",
            // A byte order mark.
            "↓\u{FEFF}{}", "{}↓\u{FEFF}", "{↓\u{0}}\u{0}", "↓<html>", "↓<!DOCTYPE html>",
            // Numbers that end too early, and words that are no literals.
            #"{"a":1.5↓.5}"#, #"{"a":↓.5}"#, #"{"a":↓+1}"#, #"{"a":1e5↓.5}"#, #"{"a":1e5↓e5}"#, #"{"a":0↓x10}"#,
            #"{"a":1↓_000}"#, #"{"a":1,↓000}"#, #"{"a":1↓f}"#, #"{"a":↓NaN}"#, #"{"a":↓Infinity}"#, "{\"a\":↓\u{0661}}",
            #"{"a":↓True}"#, #"{"a":t↓RUE}"#, #"{"a":tru↓}"#, #"{"a":true↓x}"#, #"{"a":fals↓y}"#, #"{"a":n↓il}"#,
            #"{"a":nul↓ l}"#, #"{"a":null↓1}"#, #"{"a":↓undefined}"#,
        ])
    func structure(_ marked: String) { RefusedText(marked).check() }

    @Test(
        "refuses malformed numbers at the error",
        arguments: [
            #"{"a":0↓1}"#, #"{"a":-0↓1}"#, #"{"a":0↓0}"#, #"{"a":0↓0.5}"#, #"{"a":[0↓1]}"#, #"{"a":1.↓}"#,
            #"{"a":-1.↓,"b":1}"#, #"{"a":1.↓e5}"#, #"{"a":1.↓.5}"#, #"{"a":-↓.5}"#, #"{"a":-↓-1}"#, #"{"a":-↓+1}"#,
            #"{"a":-↓}"#, #"{"a":-↓ 1}"#, #"{"a":1e↓}"#, #"{"a":1E↓,"b":1}"#, #"{"a":1e+↓}"#, #"{"a":1e-↓]}"#,
            #"{"a":1e+↓-5}"#, #"{"a":-↓Infinity}"#,
        ])
    func numbers(_ marked: String) { RefusedText(marked, .invalidNumber).check() }

    @Test(
        "refuses truncated text at its end",
        arguments: [
            "{", "{ ", #"{"#, #"{""#, #"{"a"#, #"{"a""#, #"{"a":"#, #"{"a": "#, #"{"a":1"#, #"{"a":1,"#, #"{"a":-"#,
            #"{"a":1."#, #"{"a":1e"#, #"{"a":1e+"#, #"{"a":t"#, #"{"a":fals"#, #"{"a":nul"#, #"{"a":""#, #"{"a":"b"#,
            #"{"a":"\"#, #"{"a":"\u"#, #"{"a":"\u12"#, #"{"a":"\ud83d"#, #"{"a":"\ud83d\"#, #"{"a":"\ud83d\u"#,
            #"{"a":"\ud83d\ude0"#, #"{"a":["#, #"{"a":[1"#, #"{"a":[1,"#, #"{"a":{"#, #"{"a":{"b""#, #"{"a":{"b":"#,
            #"{"a":{"b":1"#, #"{"a":[[]"#, "[", "\"", "-", "tru",
        ])
    func cut(_ text: String) {
        RefusedText(text, Array(text.utf8), .unexpectedEnd, at: text.utf8.count).check()
    }
}

struct JSONNumberTests {
    private func integer(_ text: String) -> Int64? { JSONNumber.integer(text.utf8.span, 0..<text.utf8.count) }
    private func isNumber(_ text: String) -> Bool { JSONNumber.isNumber(text.utf8.span, 0..<text.utf8.count) }
    private func double(_ text: String) -> Double? { JSONNumber.double(text.utf8.span, 0..<text.utf8.count) }

    @Test(
        "whole numbers are exact to the last of 64 bits",
        arguments: [
            ("0", 0), ("-0", 0), ("7", 7), ("-7", -7), ("10", 10), ("1403844866395", 1_403_844_866_395),
            ("9007199254740993", 9_007_199_254_740_993), ("-9007199254740993", -9_007_199_254_740_993),
            ("123456789012345678", 123_456_789_012_345_678), ("999999999999999999", 999_999_999_999_999_999),
            ("1000000000000000000", 1_000_000_000_000_000_000), ("9223372036854775807", Int64.max),
            ("-9223372036854775808", Int64.min), ("1e3", 1000), ("1E3", 1000), ("1.5e1", 15), ("2.5E2", 250),
            ("10e-1", 1), ("1.0", 1), ("-2.000", -2), ("0e5", 0), ("9007199254740993.0", 9_007_199_254_740_993),
            ("1403844866395.0", 1_403_844_866_395), ("9007199254740993e0", 9_007_199_254_740_993),
            ("92233720368547758070e-1", Int64.max), ("0e999999999999999999", 0),
            ("1.403844866395e12", 1_403_844_866_395),
        ])
    func integers(_ text: String, _ expected: Int64) {
        #expect(integer(text) == expected)
        #expect(double(text) == Double(expected))
    }

    private static let none = [
        "", " ", "-", "+1", "-+1", "--1", "01", "-01", "00", "000123", "1 ", " 1", "\t1", "1\n", "1_000", "1,000",
        "0x10",
        "0b1", "1.", ".5", "-.5", "1e", "1e+", "e5", "soon", "NaN", "nan", "inf", "Infinity", "-Infinity", "true",
        "null", "\"1\"", "[1]", "{}", "1 2", "1/2", "１", "٣", "1\u{0}", "1403844866395ms", "2014-06-27", "12:30",
    ]

    @Test("rejects texts that are not JSON numbers", arguments: none)
    func refused(_ text: String) {
        #expect(integer(text) == nil)
        #expect(double(text) == nil)
        #expect(!isNumber(text) && DecimalText(text) == nil)
    }

    @Test(
        "a number beyond 64 bits or with a fraction is a double, and none beyond the range of a double",
        arguments: [
            ("9223372036854775808", 9.223372036854775808e18), ("-9223372036854775809", -9.223372036854775808e18),
            ("99999999999999999999", 1e20), ("1e19", 1e19), ("-1e300", -1e300), ("0.1", 0.1), ("-10.5", -10.5),
            ("0.99999999999999999999", 1), ("1.00000000000000001", 1), ("9007199254740993.5", 9_007_199_254_740_994),
            ("1e-3", 0.001), ("1e309", nil), ("-1e309", nil), ("1e400", nil), ("1e999999999", nil),
        ] as [(String, Double?)])
    func doubles(_ text: String, _ expected: Double?) {
        #expect(isNumber(text) && integer(text) == nil)
        #expect(double(text) == expected)
        #expect(throws: DecodingError.self) { try Int64(from: DataDecoder(.number(text), path: [])) }
    }

    @Test(
        "a fraction is not an integer; a time drops it",
        arguments: [("1.5", 1), ("-1.5", -1), ("1403844866395.9", 1_403_844_866_395), ("15e-1", 1)] as [(String, Int64)]
    )
    func fraction(_ text: String, _ truncated: Int64) throws {
        #expect(integer(text) == nil)
        #expect(JSONNumber.truncated(text.utf8.span, 0..<text.utf8.count) == truncated)
        #expect(try PushMessage(RawPayload("{\"topic\":\"t\",\"when\":\(text)}")).sentAt == truncated)
        let shown = try PushMessage(RawPayload("{\"aps\":{\"badge\":\(text),\"content-available\":\(text)}}"))
        #expect(shown.aps?.badge == nil && shown.aps?.contentAvailable == false)
    }
}

struct PlacedValueTests {
    private func value(_ text: String) throws -> PlacedValue { try PlacedValue(Array(text.utf8), limits: .standard) }

    /// A value written again, with each value's and each key's place behind it.
    private func written(_ value: PlacedValue) -> String {
        if let elements = value.elements {
            return "[\(elements.map(written).joined(separator: " "))]@\(value.offset)"
        }
        guard let members = value.members else { return "\(value.value.jsonText)@\(value.offset)" }
        let parts = members.map { "\($0.key)@\($0.keyOffset):\(written($0.value))" }
        return "{\(parts.joined(separator: " "))}@\(value.offset)"
    }

    @Test(
        "each value and key has its position, with quotes and brackets",
        arguments: [
            (#" "a\u0041" "#, #""aA"@1"#), ("-1.50e3", "-1.50e3@0"), ("[]", "[]@0"), ("{ }", "{}@0"),
            ("[ [] , [1] ]", "[[]@2 [1@8]@7]@0"),
            ("[true,false,null]", "[true@1 false@6 null@12]@0"),
            (#"{"a" : {"b":"é"},"c":[{}]}"#, ##"{a@1:{b@8:"é"@12}@7 c@18:[{}@23]@22}@0"##),
            (#"{"a":1,"a":2}"#, "{a@1:1@5 a@7:2@11}@0"),
        ])
    func places(text: String, expected: String) throws {
        #expect(written(try value(text)) == expected)
    }

    @Test(
        "a text with nothing in it, or with more than one value, is refused",
        arguments: [("", DecodeError.Code.empty, 0), ("{} {}", .unexpectedCharacter, 3)])
    func refused(text: String, code: DecodeError.Code, offset: Int) {
        let error = #expect(throws: DecodeError.self) { try value(text) }
        #expect(error?.code == code && error?.offset == offset)
    }
}

/// A payload that must be refused: with which code, and at which byte.
///
/// In text, the place is marked with `↓`, which is taken out of the payload: no byte is counted by hand.
struct RefusedText: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]
    let code: DecodeError.Code
    let offset: Int

    var testDescription: String { name }

    init(_ marked: String, _ code: DecodeError.Code = .unexpectedCharacter) {
        let halves = marked.split(separator: "↓", maxSplits: 1, omittingEmptySubsequences: false)
        precondition(halves.count == 2, "mark the place in \(marked)")
        self.init(marked.debugDescription, Array((halves[0] + halves[1]).utf8), code, at: halves[0].utf8.count)
    }

    init(_ name: String, _ bytes: [UInt8], _ code: DecodeError.Code, at offset: Int) {
        self.name = name
        self.bytes = bytes
        self.code = code
        self.offset = offset
    }

    /// Checks that the payload is refused so, over every transport.
    func check(limits: PayloadLimits = .standard, location: SourceLocation = #_sourceLocation) {
        // QuickBlox is left out: over it, what begins with a letter or a digit is no JSON, but a sender's Base64.
        let transports: [Transport?] = [nil, .apns, .fcm, .jpush, .mqtt, "radio"]
        for transport in transports {
            let error = #expect(throws: DecodeError.self, sourceLocation: location) {
                try PushMessage(RawPayload(bytes, transport: transport), limits: limits)
            }
            #expect(error?.code == code, sourceLocation: location)
            #expect(error?.offset == offset, sourceLocation: location)
        }
    }
}
