import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct DecodeErrorTests {
    /// One payload for each code, with the word SECRET as near to the error as it can stand.
    private static let refused: [(code: DecodeError.Code, text: String)] = [
        (.unexpectedCharacter, #"{"token":"SECRET" SECRET}"#), (.unexpectedCharacter, #"{SECRET:1}"#),
        (.unexpectedCharacter, #"{"SECRET"SECRET}"#), (.unexpectedCharacter, #"{"a":SECRET}"#),
        (.unexpectedEnd, #"{"token":"SECRET"#), (.unexpectedEnd, #"{"SECRET""#),
        (.invalidEscape, #"{"token":"SECRET\qSECRET"}"#), (.invalidEscape, #"{"SECRET\ud800SECRET":1}"#),
        (.invalidNumber, #"{"SECRET":01,"b":"SECRET"}"#), (.notAnObject, #""SECRET""#),
        (.duplicateKey, #"{"SECRET":"SECRET","SECRET":"SECRET"}"#),
        (.limitExceeded, #"{"SECRET":[[[["SECRET"]]]]}"#), (.limitExceeded, #"{"a":1,"b":2,"SECRET":"SECRET"}"#),
    ]

    @Test("an error never prints the payload's contents", arguments: refused)
    func noSecrets(_ code: DecodeError.Code, _ text: String) throws {
        let limits = PayloadLimits(depth: 4, members: 2)
        let error = try #require(throws: DecodeError.self) { try PushMessage(RawPayload(text), limits: limits) }
        #expect(error.code == code)
        for printed in [error.description, "\(error)", error.detail, String(reflecting: error)] {
            #expect(!printed.contains("SECRET") && !printed.contains("token"))
        }
        var dumped = ""
        dump(error, to: &dumped)
        #expect(!dumped.contains("SECRET"))
    }

    @Test("bytes that are not text are not printed either")
    func noBytes() throws {
        let bytes = Array(#"{"token":"SECRET"#.utf8) + [0xFF] + Array("SECRET".utf8)
        let error = try #require(throws: DecodeError.self) { try PushMessage(RawPayload(bytes)) }
        #expect(error.code == .invalidUTF8)
        #expect(!"\(error)".contains("SECRET") && !error.description.contains("SECRET"))
    }

    @Test("the description is one line with code, place and reason")
    func description() throws {
        let error = try #require(throws: DecodeError.self) { try PushMessage(json: #"{"a":1,}"#) }
        #expect(error.description == "unexpectedCharacter at byte 7: \(error.detail)")
        #expect(!error.description.contains("\n"))
    }

    @Test("every code has the name that reports use")
    func names() {
        let names: Set = [
            "empty", "unexpectedCharacter", "unexpectedEnd", "invalidUTF8", "invalidEscape", "invalidNumber",
            "notAnObject", "duplicateKey", "limitExceeded",
        ]
        #expect(names.isSubset(of: DecodeError.Code.allCases.map(\.rawValue)))
    }
}
