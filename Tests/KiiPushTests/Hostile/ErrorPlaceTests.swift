import KiiPush
@_spi(Hostile) import KiiPushTesting
import Testing

/// An error points into the payload as it was received, also when what was read is not the payload's own text.
struct ErrorPlaceTests {
    /// `a=` and the Base64 of thirty control characters, each six bytes in JSON, so that the JSON is the longer one.
    private static let long = "a=" + String(repeating: "AQEB", count: 10)

    @Test("an error in what a QuickBlox event stands for says so, and where in it")
    func quickBlox() throws {
        let payload = RawPayload(Self.long + "&a=QQ==", transport: .quickblox)
        let error = try #require(throws: DecodeError.self) { try PushMessage(payload) }
        #expect(error.code == .duplicateKey && error.offset == 0)
        #expect(error.detail.hasPrefix("quickblox: in the data that the payload holds, at byte 188: "))
    }

    @Test("bytes that are not UTF-8 are found where they stand in a QuickBlox event")
    func notUTF8() throws {
        let bytes = Array("a=QQ==&".utf8) + [0xFF, 0xFE, 0xFF] + Array("=!".utf8)
        let error = try #require(throws: DecodeError.self) {
            try PushMessage(RawPayload(bytes, transport: .quickblox))
        }
        #expect(error.code == .invalidUTF8 && error.offset == 7)
    }

    @Test("an event that stands for more than the limit is refused")
    func tooLarge() throws {
        let text = "a=" + String(repeating: "AQEB", count: 100)
        let error = try #require(throws: DecodeError.self) {
            try PushMessage(RawPayload(text, transport: .quickblox), limits: PayloadLimits(bytes: 1000))
        }
        #expect(error.code == .limitExceeded && error.offset == 0)
    }

    @Test("any error of these is inside the payload, over every transport")
    func inside() throws {
        for text in [Self.long + "&a=QQ==", Self.long + "&", "a=QQ==&=", "event.message=a=!", "a=QQ==&b"] {
            try Invariants.check(payload: Array(text.utf8))
        }
    }
}
