import Testing

@testable import KiiPushAgent
@testable import kiipush

/// The traps of JSON, through the tool: whoever checks a payload with it must hear what the receiver would say.
struct InspectTrapsTests {
    private static let traps: [(bytes: [UInt8], code: String, offset: Int)] = [
        (Array(#"{"a":1,}"#.utf8), "unexpectedCharacter", 7), (Array(#"{"a":01}"#.utf8), "invalidNumber", 6),
        (Array(#"{"a":1.}"#.utf8), "invalidNumber", 7), (Array(#"{"a":.5}"#.utf8), "unexpectedCharacter", 5),
        (Array(#"{"a":+1}"#.utf8), "unexpectedCharacter", 5), (Array(#"{"a":NaN}"#.utf8), "unexpectedCharacter", 5),
        (Array(#"{"a":"\ud800"}"#.utf8), "invalidEscape", 6),
        (Array(#"{"a":"\udc00\ud800"}"#.utf8), "invalidEscape", 6),
        (Array(#"{"a":"\x41"}"#.utf8), "invalidEscape", 6), (Array("{\"a\":\"\t\"}".utf8), "unexpectedCharacter", 6),
        (Array("{\"a\":\"\0\"}".utf8), "unexpectedCharacter", 6), (Array(#"{'a':1}"#.utf8), "unexpectedCharacter", 1),
        (Array(#"{"a":1}//"#.utf8), "unexpectedCharacter", 7), (Array(#"{"a":1}{}"#.utf8), "unexpectedCharacter", 7),
        (Array("\u{FEFF}{}".utf8), "unexpectedCharacter", 0), ([0x7B, 0x22, 0xC0, 0xAF, 0x22], "invalidUTF8", 2),
        ([0x7B, 0x22, 0xED, 0xA0, 0x80, 0x22], "invalidUTF8", 2), (Array(#"{"a":1,"a":2}"#.utf8), "duplicateKey", 7),
        (Array(#"{"a":1,"\u0061":2}"#.utf8), "duplicateKey", 7), (Array("  ".utf8), "empty", 0), ([], "empty", 0),
        (Array("[1,2]".utf8), "notAnObject", 0), (Array(#""text""#.utf8), "notAnObject", 0),
        (Array(#"{"a":tru"#.utf8), "unexpectedEnd", 8), ([UInt8](repeating: 0x5B, count: 50_000), "limitExceeded", 32),
        ([UInt8](repeating: 0x5B, count: 100_000), "limitExceeded", 65_536),
    ]

    @Test("a trap is refused with its code and its byte, as text and as JSON", arguments: traps.indices)
    func refused(index: Int) async throws {
        let (bytes, code, offset) = Self.traps[index]
        let file = try TemporaryFile(bytes)
        let run = await ToolRun("inspect", "--format", "json", file.path)
        #expect(run.code == .failed && run.output.count == 1 && run.errors.count == 1)
        #expect(
            run.output.first?.contains("\"error\":{\"code\":\"\(code)\",\"offset\":\(offset),") == true, "\(run.output)"
        )
        #expect(run.errors.first?.contains(": \(code): ") == true)
        let text = await ToolRun("inspect", file.path)
        #expect(text.code == .failed && text.output.isEmpty && text.errors == run.errors)
    }

    @Test(
        "what only looks like a trap is read",
        arguments: [
            #"{"a":1e400}"#, #"{"a":-0}"#, #"{"a":1E-5}"#, #"{"a":"\ud83d\ude00"}"#, #"{"":0}"#,
            #"{"a":{"b":1,"b":2}}"#,
            "\t{ }\r\n", #"{"a":"\/\b\f\n\r\t"}"#, "{\"a\":\"\u{7F}\u{2028}\"}",
        ])
    func read(text: String) async throws {
        let file = try TemporaryFile(text)
        let run = await ToolRun("inspect", "--format", "json", file.path)
        #expect(run.code == .fine && run.errors.isEmpty && run.output.count == 1)
    }
}
