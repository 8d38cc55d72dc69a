import Testing

@testable import KiiPush

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
            ("1e-3", 0.001), ("1e309", nil), ("-1e309", nil), ("1e400", nil), ("1e999999999", nil),
        ] as [(String, Double?)])
    func doubles(_ text: String, _ expected: Double?) {
        #expect(isNumber(text) && integer(text) == nil)
        #expect(double(text) == expected)
    }

    @Test(
        "neither a tiny fraction nor a number just beyond a type is rounded to an integer",
        arguments: [
            "0.99999999999999999999", "1.00000000000000001", "9007199254740993.5", "1e-999999999999999999",
            "9223372036854775808", "-9223372036854775809", "18446744073709551616", "1e19", "-9223372036854775809.0",
        ])
    func notWhole(_ text: String) {
        #expect(integer(text) == nil)
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
