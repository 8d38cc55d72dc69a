import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct QuickBloxPushTests {
    private func push(_ payload: String, over transport: Transport? = nil) throws -> QuickBloxPush {
        try #require(DirectPushMessage(PushMessage(json: payload, over: transport))?.quickBlox)
    }

    // MARK: What it says

    private static let ios =
        #"{"aps":{"alert":"Message received from Bob","badge":5,"sound":"mysound.wav"},"user_id":"234"}"#
    private static let android =
        #"{"message":"Message+received+from+Bob","user_id":"234","collapse_key":"event1206083","from":"761750217637"}"#

    @Test("the documented push as iOS receives it, alert a string or an object, id a string or a number")
    func onIOS() throws {
        for payload in [
            Self.ios,
            Self.ios.replacing(#""Message received from Bob""#, with: #"{"body":"Message received from Bob"}"#),
            Self.ios.replacing(#""234""#, with: "234"),
        ] {
            let push = try push(payload, over: .quickblox)
            #expect(push.text == "Message received from Bob" && push.rawText == push.text && push.userID == "234")
            #expect(push.dialogID == nil && push.call == nil)
            let message = try PushMessage(json: payload, over: .quickblox)
            #expect(message.aps?.badge == 5 && message.aps?.sound == "mysound.wav")
            #expect(message.alert?.body == "Message received from Bob" && message.data.keys == ["user_id"])
        }
    }

    @Test("the documented push as Android receives it: the text unescaped, beside the text as received")
    func onAndroid() throws {
        for transport in [nil, Transport.quickblox] {
            let push = try push(Self.android, over: transport)
            #expect(push.text == "Message received from Bob" && push.rawText == "Message+received+from+Bob")
            #expect(push.userID == "234")
            let message = try PushMessage(json: Self.android, over: transport)
            #expect(message.alert == Alert(title: nil, subtitle: nil, body: "Message received from Bob"))
            #expect(message.aps == nil && message.data.keys == ["message", "user_id"])
            #expect(message.classification.evidence == ["collapse_key"])
        }
    }

    @Test(
        "a text that is escaped or not: a real plus cannot be told from a space, so the raw text stays",
        arguments: [
            ("1+1=2", "1 1=2"), ("1%2B1", "1+1"), ("100%", "100%"), ("caf%C3%A9", "café"), ("%FF+x", "%FF+x"), ("", ""),
        ])
    func escapes(raw: String, text: String) throws {
        let push = try push(#"{"message":"\#(raw)"}"#, over: .quickblox)
        #expect(push.rawText == raw && push.text == text)
        // iOS's alert is never escaped.
        let alert = try self.push(#"{"aps":{"alert":"\#(raw)"},"message":"other"}"#, over: .quickblox)
        #expect(alert.rawText == raw && alert.text == raw)
    }

    @Test("an alert without a body leaves it to the message; without either there is no text")
    func noText() throws {
        let titled = try push(#"{"aps":{"alert":{"title":"t"}},"message":"a+b"}"#, over: .quickblox)
        #expect(titled.text == "a b" && titled.rawText == "a+b")
        let none = try push(#"{"message":{"a":1},"user_id":[1]}"#, over: .quickblox)
        #expect(none.text == nil && none.rawText == nil && none.userID == nil)
        #expect(try PushMessage(json: "{}", over: .quickblox).alert == nil)
    }

    @Test("a chat's push for an offline user")
    func chat() throws {
        let push = try push(#"{"message":"Ann:+hi","dialog_id":"5f2c","user_id":17}"#)
        #expect(push.dialogID == "5f2c" && push.userID == "17" && push.text == "Ann: hi" && push.call == nil)
    }

    // MARK: What makes it one

    @Test(
        "each mark alone makes a payload a QuickBlox push",
        arguments: [
            ("VOIPCall", "\"1\""), ("VOIPCall", "1"), ("ios_voip", "\"1\""), ("ios_voip", "1"), ("dialog_id", "\"d\""),
            ("dialog_id", "7"), ("collapse_key", "\"event1\""), ("collapse_key", "\"event0123456789\""),
            ("collapse_key", #""\u0065vent1""#), (#"dialo\u0067_id"#, "\"d\""),
        ])
    func marks(key: String, value: String) throws {
        for payload in ["{\"\(key)\":\(value)}", "{\"aps\":{},\"\(key)\":\(value),\"x\":1}"] {
            let message = try PushMessage(json: payload)
            #expect(message.dialect == .foreign && message.kind == .directPush && message.certainty == .certain)
            #expect(message.classification.evidence == [key.replacing(#"\u0067"#, with: "g")])
            #expect(DirectPushMessage(message)?.quickBlox != nil)
        }
    }

    @Test("several marks are all evidence, in payload order")
    func severalMarks() throws {
        let message = try PushMessage(json: #"{"ios_voip":"1","x":1,"collapse_key":"event1","VOIPCall":"1"}"#)
        #expect(message.classification.evidence == ["ios_voip", "collapse_key", "VOIPCall"])
    }

    @Test(
        "other keys do not",
        arguments: [
            #"{"collapse_key":"event"}"#, #"{"collapse_key":"event1a"}"#, #"{"collapse_key":"events1"}"#,
            #"{"collapse_key":"Event1"}"#, #"{"collapse_key":" event1"}"#, #"{"collapse_key":"event-1"}"#,
            #"{"collapse_key":"event١"}"#, #"{"collapse_key":"bucket"}"#, #"{"collapse_key":1}"#,
            #"{"collapse_key":["event1"]}"#, #"{"dialog_id":{"a":1}}"#, #"{"VOIPCall":null}"#, #"{"ios_voip":true}"#,
            #"{"ios_voip":0}"#, #"{"ios_voip":""}"#, #"{"VOIPCall":"0"}"#, #"{"VOIPCall":"yes"}"#,
            #"{"dialog_id":""}"#, #"{"dialog_id":" "}"#,
            #"{"x":{"dialog_id":"d"}}"#, #"{"voipcall":"1"}"#, #"{"user_id":"1","message":"m"}"#, "{}",
        ])
    func noMarks(payload: String) throws {
        let message = try PushMessage(json: payload)
        #expect(message.dialect == .long && message.certainty == .likely)
        #expect(DirectPushMessage(message)?.quickBlox == nil)
    }

    private static let kiis = [
        #"{"topic":"t","dialog_id":"d"}"#, #"{"bucketID":"b","collapse_key":"event1"}"#,
        #"{"aps":{},"bi":"b","ios_voip":1}"#, #"{"senderURI":"kiicloud://admins/APP_ADMIN","dialog_id":"d"}"#,
        #"{"sourceURI":"kiicloud://users/u","dialog_id":"d"}"#, #"{"objectScopeType":"APP","VOIPCall":"1"}"#,
        #"{"objectScopeAppID":"a","VOIPCall":"1"}"#, #"{"aps":{},"su":"u","VOIPCall":"1"}"#,
    ]

    @Test("a Kii push with such a key stays Kii's", arguments: kiis)
    func besideKii(payload: String) throws {
        let message = try PushMessage(json: payload)
        #expect(message.dialect != .foreign && DirectPushMessage(message)?.quickBlox == nil)
        let marks: Set = ["dialog_id", "collapse_key", "ios_voip", "VOIPCall"]
        #expect(marks.isDisjoint(with: message.classification.evidence))
    }

    @Test("over QuickBlox any payload is its push, without Kii's fields", arguments: kiis + ["{}", #"{"x":1}"#])
    func stated(payload: String) throws {
        let message = try PushMessage(json: payload, over: .quickblox)
        #expect(message.dialect == .foreign && message.kind == .directPush && message.certainty == .certain)
        #expect(KiiField.allCases.allSatisfy { message[$0] == nil } && message.sender == nil && message.appID == nil)
        #expect(message.scope.kind == .unknown && message.bucket == nil && message.topic == nil)
        #expect(DirectPushMessage(message)?.quickBlox != nil)
    }

    private static let parameters =
        #"{"message":"Hi Bob","ios_badge":5,"ios_sound":"s.wav","ios_category":"C","ios_content_available":1,"#
        + #""ios_mutable_content":1,"user_id":"234","ios_voip":1}"#

    @Test(
        "the parameters for iOS are Apple's dictionary, and no data, in every encoding",
        arguments: [
            parameters, parameters.replacing(":5", with: ":\"5\"").replacing(":1", with: ":\"1\""),
            parameters.replacing("ios_badge", with: #"ios\u005fbadge"#), QuickBloxEvent.json(parameters).encoded,
            QuickBloxEvent.pairs([
                .init("message", "Hi Bob"), .init("ios_badge", "5"), .init("ios_sound", "s.wav"),
                .init("ios_category", "C"), .init("ios_content_available", "1"), .init("ios_mutable_content", "1"),
                .init("user_id", "234"), .init("ios_voip", "1"),
            ]).encoded,
        ])
    func iosParameters(payload: String) throws {
        let message = try PushMessage(json: payload, over: .quickblox)
        let aps = try #require(message.aps)
        #expect(aps.badge == 5 && aps.sound == "s.wav" && aps.category == "C")
        #expect(aps.contentAvailable && aps.mutableContent)
        #expect(aps.alert?.body == "Hi Bob" && message.alert == aps.alert && !aps.isSilent)
        #expect(aps.keys == ["badge", "sound", "category", "content-available", "mutable-content"])
        #expect(aps["badge"]?.integer == 5)
        #expect(message.data.keys == ["message", "user_id"])
        #expect(DirectPushMessage(message)?.quickBlox?.isVoIP == true)
        #expect(DirectPushMessage(message)?.quickBlox?.text == "Hi Bob")
    }

    @Test("a value that Apple's dictionary has itself comes before the parameter")
    func apsFirst() throws {
        let message = try PushMessage(
            json: #"{"aps":{"badge":1,"alert":"A"},"ios_badge":5,"ios_sound":"s","message":"M"}"#, over: .quickblox)
        #expect(message.aps?.badge == 1 && message.aps?.sound == "s" && message.alert?.body == "A")
        #expect(message.aps?.keys == ["badge", "alert", "sound"] && message.data.keys == ["message"])
    }

    @Test("iOS parameters without text make a silent push; in Kii's pushes they are data")
    func otherParameters() throws {
        #expect(try PushMessage(json: #"{"ios_content_available":"1"}"#, over: .quickblox).aps?.isSilent == true)
        #expect(try PushMessage(json: #"{"ios_badge":null,"message":"m"}"#, over: .quickblox).aps == nil)
        let wrong = try PushMessage(json: #"{"ios_badge":[5],"ios_sound":{}}"#, over: .quickblox)
        #expect(wrong.aps?.badge == nil && wrong.aps?.sound == nil && wrong.aps?["badge"] == .array([.number("5")]))
        let kiis = try PushMessage(json: #"{"topic":"t","ios_badge":5}"#)
        #expect(kiis.aps == nil && kiis.data.keys == ["ios_badge"])
    }

    @Test("keys named like Kii's are data of a QuickBlox push, except the URIs and aps")
    func data() throws {
        let payload = #"{"aps":{},"sender":"u","t":"x","when":"soon","dialog_id":"d","from":"7","ios_badge":5}"#
        for transport in [nil, Transport.quickblox] {
            let message = try PushMessage(json: payload, over: transport)
            #expect(message.data.keys == ["sender", "t", "when", "dialog_id"])
            #expect(message.classification.conflicts.isEmpty, "a time that is none is no conflict here")
            #expect(message.sender == nil && message.sentAt == nil)
        }
    }
}

struct QuickBloxCallTests {
    private func call(_ members: String) throws -> QuickBloxCall? {
        let message = try PushMessage(json: "{\"ios_voip\":\"1\",\(members)}")
        return try #require(DirectPushMessage(message)?.quickBlox).call
    }

    private static let native =
        #""message":"Ann is calling you.","VOIPCall":"1","sessionID":"S-1","opponentsIDs":"11,22,33","#
        + #""contactIdentifier":"Ann, Bob,Cy D","conferenceType":"1","timestamp":"1600000000123""#

    private static let flutter =
        #""body":"Ann is calling you.","sessionId":"S-2","opponents":"{\"22\":\"Bob\"}","senderId":11,"#
        + #""senderName":"Ann","recipientIds":"22,11,33","conferenceType":"2","timestamp":1600000000123"#

    @Test(
        "reads a call as the native and the Flutter samples signal it",
        arguments: [(native, "S-1", ["Ann", "Bob", "Cy D"]), (flutter, "S-2", ["Ann"])])
    func samples(members: String, session: String, names: [String]) throws {
        let message = try PushMessage(json: "{\"ios_voip\":\"1\",\(members)}")
        let push = try #require(DirectPushMessage(message)?.quickBlox)
        #expect(push.text == "Ann is calling you." && push.rawText == push.text && message.alert?.body == push.text)
        let call = try #require(push.call)
        #expect(call.sessionID == session && call.participants == ["11", "22", "33"] && call.names == names)
        #expect(call.isVideo == true && call.calledAt == 1_600_000_000_123)
    }

    @Test(
        "the conference type is 1 for video in native calls and 2 in Flutter's, as a string or a number",
        arguments: [
            (#""1""#, true, false), (#""2""#, false, true), ("1", true, false), ("2", false, true), (#""3""#, nil, nil),
            (#""video""#, nil, nil), ("null", nil, nil),
        ] as [(String, Bool?, Bool?)])
    func conferenceType(value: String, native: Bool?, flutter: Bool?) throws {
        #expect(try call(#""sessionID":"s","conferenceType":\#(value)"#)?.isVideo == native)
        #expect(try call(#""sessionId":"s","conferenceType":\#(value)"#)?.isVideo == flutter)
    }

    @Test("a call needs only a session", arguments: ["sessionID", "sessionId"])
    func least(key: String) throws {
        let call = try #require(try call("\"\(key)\":\"s\""))
        #expect(call.sessionID == "s" && call.participants.isEmpty && call.names.isEmpty)
        #expect(call.isVideo == nil && call.calledAt == nil)
    }

    @Test(
        "there is no call without a session",
        arguments: [
            #""message":"m""#, #""sessionID":"""#, #""sessionId":"""#, #""sessionID":null"#, #""sessionID":["s"]"#,
            #""SessionID":"s""#, #""opponentsIDs":"1,2","conferenceType":"1""#,
        ])
    func none(members: String) throws {
        #expect(try call(members) == nil)
    }

    @Test("a blank sessionID leaves it to sessionId")
    func blank() throws {
        #expect(try call(#""sessionID":"","sessionId":"s","conferenceType":"2""#)?.isVideo == true)
    }

    @Test(
        "the time is milliseconds, or the date in UTC that older samples have",
        arguments: [
            (#""1600000000123""#, 1_600_000_000_123), ("0", 0), (#""1970-01-01 00:00:00""#, 0),
            (#""2020-02-29 12:34:56""#, 1_582_979_696_000), (#""yesterday""#, nil), (#""""#, nil),
            ("1600000000123.9", 1_600_000_000_123), ("true", nil), ("[1]", nil), (#""2020-02-29""#, nil),
            (#""2020-02-29 12:34""#, nil), (#""2020-02-30 12:34:56""#, nil), (#""2020-02-29T12:34:56""#, nil),
            (#""2020-1-01 00:00:00""#, nil), (#""20200-01-1 00:00:00""#, nil), (#""2020-01-01 00:00:00.5""#, nil),
            (#""٢020-01-01 00:00:0""#, nil),
        ] as [(String, Int64?)])
    func time(value: String, milliseconds: Int64?) throws {
        #expect(try call("\"sessionID\":\"s\",\"timestamp\":\(value)")?.calledAt == milliseconds)
    }

    @Test(
        "lists are split at commas, and the caller appears once",
        arguments: [
            ("11", "\"22,33\"", ["11", "22", "33"]), ("\"11\"", "\"11, 22\"", ["11", "22"]), ("11", "null", ["11"]),
            ("null", "\"22,33\"", ["22", "33"]), ("11", "\"\"", ["11"]), ("11", "22", ["11", "22"]),
        ])
    func participants(caller: String, others: String, expected: [String]) throws {
        let call = try call("\"sessionId\":\"s\",\"senderId\":\(caller),\"recipientIds\":\(others)")
        #expect(call?.participants == expected)
    }
}
