import Testing

@testable import KiiPushSystem

@Suite("UTCDate")
struct UTCDateTests {
    @Test(
        "a time is written as a date, and that is read as the same time",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (1_403_844_866_395, "2014-06-27T04:54:26.395Z"),
            (-1, "1969-12-31T23:59:59.999Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
        ] as [(Int64, String)])
    func date(milliseconds: Int64, text: String) {
        #expect(UTCDate(milliseconds: milliseconds)?.description == text)
        #expect(UTCDate(text)?.milliseconds == milliseconds)
    }

    @Test("a time outside of years 1 to 9999 is nil", arguments: [.min, .max, 253_402_300_800_000] as [Int64])
    func beyond(milliseconds: Int64) {
        #expect(UTCDate(milliseconds: milliseconds) == nil)
    }

    @Test("every day of 800 years is read as it is written")
    func everyDay() throws {
        for day in Int64(-146_097)...146_097 {
            let date = try #require(UTCDate(milliseconds: day * 86_400_000))
            guard UTCDate(date.shortText) == date else {
                Issue.record("\(date)")
                return
            }
        }
    }

    @Test(
        "RFC 3339 in all its ways: fractions, small letters, offsets, leap seconds",
        arguments: [
            ("2026-11-21T12:00:00Z", "2026-11-21T12:00:00.000Z"), ("2026-11-21t12:00:00z", "2026-11-21T12:00:00.000Z"),
            ("2026-11-21T12:00:00.5Z", "2026-11-21T12:00:00.500Z"),
            ("2026-11-21T12:00:00.0129999999999999999999Z", "2026-11-21T12:00:00.012Z"),
            ("2026-11-21T12:00:00+02:00", "2026-11-21T10:00:00.000Z"),
            ("2026-12-31T23:30:00-01:30", "2027-01-01T01:00:00.000Z"),
            ("2026-11-21T12:00:00-00:00", "2026-11-21T12:00:00.000Z"),
            ("1990-12-31T23:59:60Z", "1991-01-01T00:00:00.000Z"),
            ("1990-12-31T15:59:60-08:00", "1991-01-01T00:00:00.000Z"),
        ])
    func read(text: String, date: String) {
        #expect(UTCDate(text)?.description == date)
    }

    @Test(
        "rejects texts that are not times",
        arguments: [
            "", "tomorrow", "2026-11-21", "2026-11-21T12:00:00", "2026-11-21 12:00:00Z", "2026-11-21T12:00Z",
            "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-04-31T00:00:00Z",
            "2026-01-00T00:00:00Z", "0000-01-01T00:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T12:60:00Z",
            "2026-11-21T12:00:61Z", "2026-11-21T12:00:60Z", "2026-11-21T12:00:00.Z", "2026-11-21T12:00:00+2:00",
            "2026-11-21T12:00:00+24:00", "2026-11-21T12:00:00+01:60", "2026-11-21T12:00:00ZZ", " 2026-11-21T12:00:00Z",
            "+026-11-21T12:00:00Z", "2026-11-21T12:00:00Z\n", "٢٠٢٦-11-21T12:00:00Z", "0001-01-01T00:00:00+01:00",
            "9999-12-31T23:59:60Z",
        ])
    func none(text: String) {
        #expect(UTCDate(text) == nil)
    }

    @Test("a time moves by a duration and stays within its years")
    func advanced() throws {
        let date = try #require(UTCDate("2026-11-21T12:00:00Z"))
        #expect(date.advanced(by: .seconds(3600)).shortText == "2026-11-21T13:00:00Z")
        #expect(date.advanced(by: .microseconds(1500)).shortText == "2026-11-21T12:00:00.001Z")
        #expect(date.advanced(by: .seconds(Int64.max)).shortText == "9999-12-31T23:59:59.999Z")
        #expect(date.advanced(by: .seconds(Int64.min)).shortText == "0001-01-01T00:00:00Z")
        #expect(date.duration(to: date.advanced(by: .seconds(-5))) == .seconds(-5))
        #expect(date < date.advanced(by: .milliseconds(1)))
    }
}

struct EscapedTextTests {
    @Test(
        "escapes terminal control sequences",
        arguments: [
            ("\u{1B}]0;title\u{07}", "\\u{1B}]0;title\\u{7}"), ("nul\0", "nul\\u{0}"),
            ("a\nb\rc\r\nd\te", "a\\nb\\rc\\r\\nd\\te"), ("\u{202E}txt.exe\u{61C}", "\\u{202E}txt.exe\\u{61C}"),
            // A combining mark makes one character with what is before it; that hides nothing.
            ("\u{1B}\u{301}", "\\u{1B}\u{301}"),
        ])
    func escapes(text: String, expected: String) {
        #expect(EscapedText(text).description == expected)
    }

    @Test("every control character and every one that turns the direction of writing is escaped, and no other")
    func everyScalar() {
        var escaped: [UInt32] = []
        for value in (0...0x10FFFF as ClosedRange<UInt32>) {
            guard let scalar = Unicode.Scalar(value) else { continue }
            if EscapedText(String(Character(scalar))).description.hasPrefix("\\"), value != 0x5C {
                escaped.append(value)
            }
        }
        let expected = [0...0x1F, 0x7F...0x9F, 0x61C...0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069]
        #expect(escaped == expected.flatMap { $0.map { UInt32($0) } })
    }
}
