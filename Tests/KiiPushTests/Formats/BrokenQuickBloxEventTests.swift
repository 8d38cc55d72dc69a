@_spi(Hostile) import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// Texts that begin as a QuickBlox sender's and are none: each has its code, its place and a reason.
struct BrokenQuickBloxEventTests {
    private static let foreign = "this character has no place in Base64"
    private static let noKey = "a key and an equals sign are due here"
    private static let notUTF8 = "the Base64 holds bytes that are not UTF-8"
    private static let escapedNotUTF8 = "the value escapes bytes that are not UTF-8"
    private static let leftOver = "Base64 ends with bits that belong to no byte"
    private static func groups(_ digits: Int, _ padding: Int) -> String {
        "Base64 comes in groups of four characters; this text has \(digits), and \(padding) of padding"
    }

    private static let broken: [(marked: String, detail: String)] = [
        // All platforms.
        ("Hello↓", groups(5, 0)), ("Hell↓!", foreign), ("QQ=↓", groups(2, 1)), ("QR==↓", leftOver), ("↓ww==", notUTF8),
        ("↓//8=", notUTF8), ("QQ==↓QQ==", foreign), ("SSBsb3Zl↓-Q==", foreign), ("Q↓é==", foreign),
        // Pairs.
        ("a=QQ↓", groups(2, 0)), ("a=QQ=↓", groups(2, 1)), ("a=↓*QQ=", foreign), ("a=QR==↓", leftOver),
        ("a=↓/w==&b=QQ==", notUTF8), ("a=QQ==&b=Q↓*==", foreign),
        ("a=QQ==&↓", noKey), ("a=QQ==&↓&b=QQ==", noKey), ("a=QQ==&↓b", noKey), ("a=QQ==&↓=QQ==", noKey),
        ("a=QQ==&b=↓JUZG", escapedNotUTF8), ("a=QQ==&b=QQ==↓QQ==", foreign), ("a=↓;b=QQ==", foreign),
        // iOS.
        ("payload=ezE↓", groups(3, 0)), ("payload=↓_30=", foreign), ("payload=↓//8=", notUTF8),
        // Android.
        ("data.message=SStsb3Z↓", groups(7, 0)), ("data.message=↓JUMz", escapedNotUTF8),
        ("data.message=bQ==&data.a=b↓-==", foreign), ("data.message=bQ==&↓data.a", noKey),
    ]

    @Test("refuses each at its error", arguments: broken.indices, ["", "event.message="])
    func places(index: Int, prefix: String) {
        let (marked, detail) = Self.broken[index]
        let halves = (prefix + marked).split(separator: "↓", omittingEmptySubsequences: false).map(String.init)
        let text = halves.joined()
        let direct = #expect(throws: DecodeError.self) { try QuickBloxEvent(text) }
        #expect(direct?.code == .badEncoding && direct?.detail == detail, "\(text)")
        #expect(direct?.offset == halves[0].utf8.count, "\(text)")
        guard text.first?.isLetter == true else { return }
        let error = #expect(throws: DecodeError.self) { try PushMessage(json: text, over: .quickblox) }
        #expect(
            error?.code == direct?.code && error?.offset == direct?.offset && error?.detail == "quickblox: \(detail)")
    }

    @Test("bytes that are not UTF-8 are refused where they stand")
    func invalidUTF8() {
        for (bytes, offset): ([UInt8], Int) in [
            (Array("a=QQ==&".utf8) + [0xFF] + Array("=!".utf8), 7), (Array("Hé".utf8) + [0xC3], 3),
        ] {
            let error = #expect(throws: DecodeError.self) { try PushMessage(RawPayload(bytes, transport: .quickblox)) }
            #expect(error?.code == .invalidUTF8 && error?.offset == offset)
        }
    }

    @Test(
        "an event whose Base64 holds a broken push says so, at the event's first byte",
        arguments: [
            ("[1]", DecodeError.Code.notAnObject), ("{", .unexpectedEnd), ("", .empty), (#"{"a":01}"#, .invalidNumber),
            (#"{"a":1,"a":2}"#, .duplicateKey), ("Hello", .unexpectedCharacter),
        ])
    func brokenPush(json: String, code: DecodeError.Code) {
        let text = QuickBloxEvent.pairs([.init("payload", json), .init("x", "y")]).encoded
        #expect(throws: Never.self) { try PushMessage(json: text, over: .quickblox) }
        guard !json.isEmpty else { return }
        let event = QuickBloxEvent.ios(json: json).encoded
        let error = #expect(throws: DecodeError.self) { try PushMessage(json: event, over: .quickblox) }
        #expect(error?.code == code && error?.offset == 0)
        #expect(error?.detail.hasPrefix("quickblox: in the data that the payload holds, at byte ") == true)
    }

    /// `a=` and the Base64 of thirty control characters, each six bytes in JSON, so that the JSON is the longer one.
    private static let long = "a=" + String(repeating: "AQEB", count: 10)

    @Test("a repeated parameter is a duplicate key, and its place the one in what the event stands for")
    func duplicate() {
        let error = #expect(throws: DecodeError.self) { try PushMessage(json: Self.long + "&a=QQ==", over: .quickblox) }
        #expect(error?.code == .duplicateKey && error?.offset == 0)
        #expect(error?.detail.hasPrefix("quickblox: in the data that the payload holds, at byte 188: ") == true)
    }

    @Test("an event that stands for more than the limit is refused")
    func tooLarge() {
        let payload = RawPayload("a=" + String(repeating: "AQEB", count: 100), transport: .quickblox)
        let error = #expect(throws: DecodeError.self) {
            try PushMessage(payload, limits: PayloadLimits(bytes: 1000))
        }
        #expect(error?.code == .limitExceeded && error?.offset == 0)
    }

    @Test(
        "any error of these is inside the payload, over every transport",
        arguments: [long + "&a=QQ==", long + "&", "a=QQ==&=", "event.message=a=!", "a=QQ==&b"])
    func inside(text: String) throws { try Invariants.check(payload: Array(text.utf8)) }
}
