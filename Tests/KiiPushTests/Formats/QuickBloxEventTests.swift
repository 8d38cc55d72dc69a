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

    @Test("the documented text for iOS is read although it is wrapped, and stands for the documented push")
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

    @Test("the documented Base64 of the parameters is none, and the error says why", arguments: ["", "event.message="])
    func bogus(prefix: String) {
        let text = prefix + String(repeating: "c29tZXZhbHVlMQ", count: 5)
        let error = #expect(throws: DecodeError.self) { try PushMessage(json: text, over: .quickblox) }
        #expect(error?.code == .badEncoding && error?.offset == text.utf8.count)
        #expect(
            error?.detail == "quickblox: Base64 comes in groups of four characters; this text has 70, and 0 of padding")
    }

    @Test("the documented parameters, rightly encoded, are read")
    func parameters() throws {
        let json =
            #"{"message": "Message received from Bob", "ios_badge": 5, "ios_sound": "mysound.wav", "user_id": "234"}"#
        let encoded = QuickBloxEvent.json(json).encoded
        #expect(try QuickBloxEvent(encoded) == .json(json))
        let push = try DirectPushMessage(PushMessage(json: encoded, over: .quickblox))?.quickBlox
        #expect(push?.text == "Message received from Bob" && push?.userID == "234")
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

    @Test("on Android the message comes first, wherever it stood, and may be blank")
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

    @Test("an error in an escaped text has its place there, and a percent that escapes nothing is no Base64")
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

    @Test("an event is the push that a device would get of it")
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

    @Test("only QuickBlox stated, and only what is no JSON, is read as an event")
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

    @Test("an event over the limit is refused before it is read")
    func limit() throws {
        let text = QuickBloxEvent.text(String(repeating: "x", count: 300)).encoded
        func read(_ bytes: Int) throws -> PushMessage {
            try PushMessage(
                RawPayload(text, transport: .quickblox), limits: PayloadLimits(bytes: bytes, depth: 4, members: 9))
        }
        #expect(try read(text.utf8.count).alert?.body?.count == 300)
        let error = #expect(throws: DecodeError.self) { try read(text.utf8.count - 1) }
        #expect(error?.code == .limitExceeded)
    }
}
