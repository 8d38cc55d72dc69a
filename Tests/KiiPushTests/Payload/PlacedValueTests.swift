import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct PlacedValueTests {
    private func value(_ text: String) throws -> PlacedValue { try PlacedValue(Array(text.utf8), limits: .standard) }

    /// A value written again, with each value's and each key's place behind it.
    private func written(_ value: PlacedValue) -> String {
        let place = "@\(value.range.lowerBound)-\(value.range.upperBound)"
        switch value.content {
        case .string(let text): return "'\(text)'\(place)"
        case .number(let text): return "\(text)\(place)"
        case .bool(let bool): return "\(bool)\(place)"
        case .null: return "null\(place)"
        case .array(let elements): return "[\(elements.map(written).joined(separator: " "))]\(place)"
        case .object(let members):
            let parts = members.map { "\($0.key)@\($0.keyOffset):\(written($0.value))" }
            return "{\(parts.joined(separator: " "))}\(place)"
        }
    }

    @Test(
        "each value and key has its position, with quotes and brackets",
        arguments: [
            (#" "a\u0041" "#, "'aA'@1-10"), ("-1.50e3", "-1.50e3@0-7"), ("[]", "[]@0-2"), ("{ }", "{}@0-3"),
            ("[ [] , [1] ]", "[[]@2-4 [1@8-9]@7-10]@0-12"),
            ("[true,false,null]", "[true@1-5 false@6-11 null@12-16]@0-17"),
            (#"{"a" : {"b":"é"},"c":[{}]}"#, "{a@1:{b@8:'é'@12-16}@7-17 c@18:[{}@23-25]@22-26}@0-27"),
            (#"{"a":1,"a":2}"#, "{a@1:1@5-6 a@7:2@11-12}@0-13"),
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
