import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct RawPayloadTests {
    @Test("transports are an open set of names")
    func transports() {
        let known = [Transport.apns, .fcm, .jpush, .mqtt, .quickblox].map(\.name)
        #expect(known == ["apns", "fcm", "jpush", "mqtt", "quickblox"])
        #expect(Transport("apns") == .apns && "apns" == Transport.apns && Transport("APNS") != .apns)
        let name = "radio"
        #expect("\(Transport(name))" == "radio" && Transport(name) == "radio")
    }
}

struct DecodeErrorTests {
    @Test("the description is one line with code, place and reason")
    func description() throws {
        let error = try #require(throws: DecodeError.self) { try PushMessage(json: #"{"a":1,}"#) }
        #expect("\(error)" == "unexpectedCharacter at byte 7: \(error.detail)" && !error.detail.contains("\n"))
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
