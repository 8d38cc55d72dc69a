import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct QuickBloxEventTests {
    typealias Pair = QuickBloxEvent.Pair

    // MARK: The documented samples

    private static let candy = "I love M&M's! Especially red one!"

    /// Wrapped by spaces, as the reference prints it; its line ends are CRLF.
    private static let iosSample =
        "ew0KICAgICJhcHMiIDogew0KICAgICAgICAiYWxlcnQiIDogIllvdSBnb3QgeW91ciBlbWFpbHMuIiwNCiAgICAgICAg "
        + "ImJhZGdlIiA6IDksDQogICAgICAgICJzb3VuZCIgOiAiYmluZ2JvbmcuYWlmZiINCiAgICB9LA0KICAgICJhY21lMSIgOiAiYmFyIiwNCi "
        + "AgICAiYWNtZTIiIDogNDINCn0="

    @Test(
        "documented texts are read, with and without event.message in front, and written the same",
        arguments: [
            ("SSBsb3ZlIE0mTSdzISBFc3BlY2lhbGx5IHJlZCBvbmUh", QuickBloxEvent.text(candy)),
            (
                "data.message=SStsb3ZlK00lMjZNJTI3cyUyMStFc3BlY2lhbGx5K3JlZCtvbmUlMjE=",
                .android([Pair("message", candy)])
            ),
            (
                "key1=c29tZXZhbHVlMQ==&key2=YW5vdGhlcnZhbHVlMg==&key3=dGhpcmRleGFtcGxl",
                .pairs([Pair("key1", "somevalue1"), Pair("key2", "anothervalue2"), Pair("key3", "thirdexample")])
            ),
        ])
    func documented(text: String, event: QuickBloxEvent) throws {
        #expect(try QuickBloxEvent(text) == event)
        #expect(try QuickBloxEvent("event.message=" + text) == event)
        #expect(event.encoded == text)
    }

    @Test("reads the documented iOS text with its line breaks")
    func documentedIOS() throws {
        guard case .ios(let json) = try QuickBloxEvent("event.message=payload=" + Self.iosSample) else {
            Issue.record("it is for iOS")
            return
        }
        #expect(json.hasPrefix("{\r\n    \"aps\" : {\r\n") && json.hasSuffix("42\r\n}"))
        #expect(QuickBloxEvent.ios(json: json).encoded == "payload=" + Self.iosSample.replacing(" ", with: ""))
        let message = try PushMessage(json: "payload=" + Self.iosSample, over: .quickblox)
        #expect(message.alert?.body == "You got your emails." && message.aps?.badge == 9)
        #expect(message.aps?.sound == "bingbong.aiff")
        #expect(message.data["acme1"] == .string("bar") && message.data["acme2"] == .number("42"))
    }

    // MARK: Round trips

    private static let texts = [
        "a", "Hello", "a+b = c & d%20", "é€😀\u{0}\r\n\t", "\"quoted\\\"", "=", "==", "&", "%FF", " ", "x=1&y=2",
    ]

    @Test("reads what it writes, in each of the five encodings", arguments: texts)
    func roundTrips(text: String) throws {
        let pair = Pair("key", text)
        let object = #"{"message":\#(text.quotedAsJSON)}"#
        let events: [QuickBloxEvent] = [
            .pairs([pair]), .pairs([Pair("a", ""), pair, Pair("b_2", "x")]), .ios(json: object),
            .android([Pair("message", text)]), .android([Pair("message", "m"), pair]), .text(text), .json(object),
        ]
        for event in events {
            #expect(try QuickBloxEvent(event.encoded) == event)
            #expect(try QuickBloxEvent("event.message=" + event.encoded) == event)
        }
    }

    @Test("writes the Android message first, even if it is blank")
    func messageFirst() throws {
        let event = QuickBloxEvent.android([Pair("a", "1"), Pair("message", "m"), Pair("b", "2")])
        #expect(event.encoded == "data.message=bQ==&data.a=MQ==&data.b=Mg==")
        #expect(try QuickBloxEvent(event.encoded) != event)
        // QuickBlox requires it.
        #expect(QuickBloxEvent.android([Pair("a", "1")]).encoded == "data.message=&data.a=MQ==")
        #expect(QuickBloxEvent.android([]).encoded == "data.message=")
        #expect(try QuickBloxEvent("data.message=") == .android([Pair("message", "")]))
        #expect(try QuickBloxEvent("data.message=&data.a=MQ==") == .android([Pair("message", ""), Pair("a", "1")]))
    }

    @Test(
        "separators may be escaped, as in a request's form",
        arguments: [
            "key1=YQ==%26key2=Yg==", "event.message%3Dkey1%3DYQ%3D%3D%26key2%3DYg%3d%3d", "key1=YQ==&key2=Yg%3D%3D",
        ])
    func percents(text: String) throws {
        #expect(try QuickBloxEvent(text) == .pairs([Pair("key1", "a"), Pair("key2", "b")]))
        #expect(try PushMessage(json: text, over: .quickblox).data.keys == ["key1", "key2"])
    }

    @Test("an error in an escaped text is reported at its place in that text")
    func percentErrors() {
        for (text, offset) in [("a=YQ==%26b=?", 11), ("a=YQ%3D%3D&b=YQ%", 15), ("a=%2", 2), ("a%3DYQ", 6)] {
            let error = #expect(throws: DecodeError.self) { try QuickBloxEvent(text) }
            #expect(error?.code == .badEncoding && error?.offset == offset, "\(text): \(error?.offset ?? -1)")
        }
    }

    // MARK: Telling them apart

    @Test(
        "recognizes each encoding",
        arguments: [
            // Padding is no equals sign of a pair.
            ("QQ==", QuickBloxEvent.text("A")), ("QUI=", .text("AB")), ("QQ= =\n", .text("A")), ("QUJD", .text("ABC")),
            ("", .text("")), (" \n", .text("")),
            // A pair is split at its first equals sign, and Base64 is not unescaped before it is decoded.
            ("a=QQ==", .pairs([Pair("a", "A")])), ("a=Pj4+", .pairs([Pair("a", ">>>")])),
            ("a=QUI=&b=QQ==", .pairs([Pair("a", "AB"), Pair("b", "A")])), ("a=Kys=", .pairs([Pair("a", "  ")])),
            ("user-id=MQ==", .pairs([Pair("user-id", "1")])),
            // Wrapped lines.
            ("a=Q\r\n Q==", .pairs([Pair("a", "A")])), ("S SBs\nb3Zl", .text("I love")),
            // payload is iOS's only alone; data. is Android's only on every key.
            ("payload=e30=", .ios(json: "{}")),
            ("payload=e30=&a=QQ==", .pairs([Pair("payload", "{}"), Pair("a", "A")])),
            ("data.a=QQ==", .android([Pair("a", "A")])),
            ("data.a=QQ==&b=Qg==", .pairs([Pair("data.a", "A"), Pair("b", "B")])),
            ("data=QQ==", .pairs([Pair("data", "A")])),
            // An object is parameters; any other JSON is a text.
            ("e30=", .json("{}")), ("IHsiYSI6MX0K", .json(" {\"a\":1}\n")), ("WzFd", .text("[1]")),
            ("NDI=", .text("42")), ("ezE=", .text("{1")),
        ])
    func kinds(text: String, event: QuickBloxEvent) throws {
        #expect(try QuickBloxEvent(text) == event)
    }

    // MARK: As a payload

    @Test("an event is read as the push that a device would receive")
    func payloads() throws {
        func push(_ event: QuickBloxEvent) throws -> (PushMessage, QuickBloxPush) {
            let message = try PushMessage(json: event.encoded, over: .quickblox)
            #expect(message.dialect == .foreign && message.raw.bytes == Array(event.encoded.utf8))
            return (message, try #require(DirectPushMessage(message)?.quickBlox))
        }
        #expect(try push(.text("Hello \"you\"")).1.text == "Hello \"you\"")
        #expect(try push(.ios(json: #"{"aps":{"alert":"x"},"user_id":1}"#)).1.userID == "1")
        #expect(try push(.json(#"{"message":"m","dialog_id":"d"}"#)).1.dialogID == "d")
        let (android, text) = try push(.android([Pair("message", "1 & 1"), Pair("user_id", "7")]))
        #expect(text.text == "1 & 1" && text.userID == "7" && android.data.keys == ["message", "user_id"])
        let (pairs, _) = try push(.pairs([Pair("a", "1"), Pair("é\"", "2")]))
        #expect(pairs.data["a"] == .string("1") && pairs.data["é\""] == .string("2"))
    }

    @Test("reads events only over QuickBlox, and only if they are not JSON")
    func onlyStated() throws {
        let text = QuickBloxEvent.text("Hello").encoded
        for transport in [nil, Transport.apns, .fcm, .jpush, .mqtt, "radio"] {
            let error = #expect(throws: DecodeError.self) { try PushMessage(json: text, over: transport) }
            #expect(error?.code == .unexpectedCharacter)
        }
        #expect(try PushMessage(json: " \n{\"message\":\"m\"}", over: .quickblox).data.keys == ["message"])
        #expect(try PushMessage(json: " \n" + text, over: .quickblox).alert?.body == "Hello")
        for (text, code) in [
            ("", DecodeError.Code.empty), (" ", .empty), ("[1]", .notAnObject), ("\"x\"", .notAnObject),
        ] {
            let error = #expect(throws: DecodeError.self) { try PushMessage(json: text, over: .quickblox) }
            #expect(error?.code == code)
        }
    }
}

/// Texts that begin as a QuickBlox sender's and are none: each has its code, its place and a reason.
struct BrokenQuickBloxEventTests {
    private static let foreign = Base64Tests.foreign
    private static let noKey = "a key and an equals sign are due here"
    private static let notUTF8 = "the Base64 holds bytes that are not UTF-8"
    private static let escapedNotUTF8 = "the value escapes bytes that are not UTF-8"
    private static let leftOver = Base64Tests.leftOver
    private static func groups(_ digits: Int, _ padding: Int) -> String { Base64Tests.groups(digits, padding) }

    private static let broken: [(marked: String, detail: String)] = [
        // All platforms.
        // As QuickBlox's guide has it.
        (String(repeating: "c29tZXZhbHVlMQ", count: 5) + "↓", groups(70, 0)),
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
        "a broken push inside an event is reported at the event's first byte",
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

    @Test("a repeated parameter is a duplicate key, reported at its place in the decoded push")
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
}
