import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

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
