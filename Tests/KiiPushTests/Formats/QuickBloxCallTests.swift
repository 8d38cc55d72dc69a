import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

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

    @Test("a call as the native samples signal it: 1 is video, the caller comes first")
    func native() throws {
        let call = try #require(try call(Self.native))
        #expect(call.sessionID == "S-1" && call.participants == ["11", "22", "33"])
        #expect(call.names == ["Ann", "Bob", "Cy D"] && call.isVideo == true && call.calledAt == 1_600_000_000_123)
    }

    @Test("a call as the Flutter sample signals it: 2 is video, the caller stands apart")
    func flutter() throws {
        let call = try #require(try call(Self.flutter))
        #expect(call.sessionID == "S-2" && call.participants == ["11", "22", "33"])
        #expect(call.names == ["Ann"] && call.isVideo == true && call.calledAt == 1_600_000_000_123)
    }

    @Test("the text of a call is its message, or the Flutter sample's body")
    func text() throws {
        for members in [Self.native, Self.flutter] {
            let message = try PushMessage(json: "{\"ios_voip\":\"1\",\(members)}")
            let push = try #require(DirectPushMessage(message)?.quickBlox)
            #expect(push.text == "Ann is calling you." && push.rawText == push.text)
            #expect(message.alert?.body == "Ann is calling you.")
        }
    }

    @Test(
        "the conference's type, as a string or a number, and the other way round for Flutter; another one says nothing",
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
        "lists are split at commas, and the caller stands once",
        arguments: [
            ("11", "\"22,33\"", ["11", "22", "33"]), ("\"11\"", "\"11, 22\"", ["11", "22"]), ("11", "null", ["11"]),
            ("null", "\"22,33\"", ["22", "33"]), ("11", "\"\"", ["11"]), ("11", "22", ["11", "22"]),
        ])
    func participants(caller: String, others: String, expected: [String]) throws {
        let call = try call("\"sessionId\":\"s\",\"senderId\":\(caller),\"recipientIds\":\(others)")
        #expect(call?.participants == expected)
    }
}
