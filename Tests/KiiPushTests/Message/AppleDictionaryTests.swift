import Testing

@testable import KiiPush

struct AppleDictionaryTests {
    private func aps(_ text: String) throws -> AppleDictionary? {
        try PushMessage(json: "{\"aps\":\(text)}", over: .apns).aps
    }

    @Test("every key of a full dictionary is read")
    func full() throws {
        let aps = try #require(
            try aps(
                #"{"alert":{"title":"T","subtitle":"S","body":"B","loc-key":"K","loc-args":["a"],"launch-image":"i"},"badge":5,"#
                    + #""sound":"x.wav","category":"C","content-available":1,"mutable-content":1,"thread-id":"t"}"#))
        #expect(aps.alert == Alert(title: "T", subtitle: "S", body: "B"))
        #expect(aps.badge == 5 && aps.sound == "x.wav" && aps.category == "C")
        #expect(aps.contentAvailable && aps.mutableContent && !aps.isSilent)
    }

    @Test("an empty dictionary says nothing, and is a dictionary")
    func empty() throws {
        let aps = try #require(try aps("{}"))
        #expect(aps.alert == nil && aps.badge == nil && aps.sound == nil && aps.category == nil)
        #expect(!aps.contentAvailable && !aps.mutableContent && !aps.isSilent)
    }

    @Test(
        "the alert is a string or an object, and what has another type is none",
        arguments: [
            (#""hello""#, Alert(title: nil, subtitle: nil, body: "hello")),
            (#""a\nb\u00e9""#, Alert(title: nil, subtitle: nil, body: "a\nbé")),
            (#"{"body":"B"}"#, Alert(title: nil, subtitle: nil, body: "B")),
            (#"{"title":"T"}"#, Alert(title: "T", subtitle: nil, body: nil)),
            (#"{"title":1,"subtitle":null,"body":["x"]}"#, Alert(title: nil, subtitle: nil, body: nil)),
            (#"{"t\u0069tle":"\u0054","body":"\"q\""}"#, Alert(title: "T", subtitle: nil, body: "\"q\"")),
            (#"{"Body":"B","alert":{"body":"nested"}}"#, Alert(title: nil, subtitle: nil, body: nil)),
            ("5", nil), ("true", nil), ("null", nil), (#"["hello"]"#, nil),
        ])
    func alert(_ value: String, _ alert: Alert?) throws {
        #expect(try aps("{\"alert\":\(value)}")?.alert == alert)
        #expect(try PushMessage(json: "{\"aps\":{\"alert\":\(value)},\"to\":\"t\"}").alert == alert)
    }

    @Test(
        "values of a wrong type count as absent",
        arguments: [
            #"{"badge":"5"}"#, #"{"badge":true}"#, #"{"badge":null}"#, #"{"badge":99999999999999999999}"#,
            #"{"sound":5}"#,
            #"{"sound":{"name":"x","critical":1}}"#, #"{"category":["c"]}"#, #"{"Badge":5,"SOUND":"x","Category":"c"}"#,
        ])
    func wrongTypes(_ text: String) throws {
        let aps = try #require(try aps(text))
        #expect(aps.badge == nil && aps.sound == nil && aps.category == nil)
    }

    @Test(
        "a badge is any whole number",
        arguments: [("0", 0), ("5", 5), ("-1", -1), ("1e2", 100), ("9007199254740993", 9_007_199_254_740_993)])
    func badge(_ text: String, _ badge: Int64) throws {
        #expect(try aps("{\"badge\":\(text)}")?.badge == badge)
    }

    @Test(
        "content-available and mutable-content are set by 1, and by nothing else but what relays make of it",
        arguments: [
            ("1", true), ("1.0", true), ("\"1\"", true), ("true", true), ("0", false), ("2", false), ("-1", false),
            ("false", false),
            ("null", false), ("\"\"", false), ("\"yes\"", false), ("[1]", false), ("{}", false),
        ])
    func flags(_ value: String, _ isSet: Bool) throws {
        let aps = try #require(try aps("{\"content-available\":\(value),\"mutable-content\":\(value)}"))
        #expect(aps.contentAvailable == isSet && aps.mutableContent == isSet && aps.isSilent == isSet)
    }

    @Test(
        "silent is what wakes the app and shows nothing",
        arguments: [
            (#"{"content-available":1}"#, true), (#"{"content-available":1,"badge":1,"sound":"x"}"#, true),
            (#"{"content-available":1,"alert":"x"}"#, false), (#"{"content-available":1,"alert":{"body":"x"}}"#, false),
            (#"{"content-available":1,"alert":7}"#, true), (#"{"content-available":0}"#, false),
            (#"{"alert":"x"}"#, false), ("{}", false),
        ])
    func silent(_ text: String, _ isSilent: Bool) throws {
        #expect(try aps(text)?.isSilent == isSilent)
    }

    @Test("an aps that is no object is no dictionary", arguments: [#""x""#, "1", "null", "[]", "true"])
    func noObject(_ text: String) throws {
        #expect(try aps(text) == nil)
        #expect(try PushMessage(json: "{\"aps\":\(text)}").alert == nil)
    }

    @Test("the dictionary is read beside fields with escapes, and wherever it stands")
    func place() throws {
        let message = try PushMessage(
            json: #" {"s":"\u0055","x":{"aps":{"alert":"no"}}, "\u0061ps" : { "alert" : "yes" } ,"to":"\u0074"}"#)
        #expect(message.alert?.body == "yes" && message[.topic] == "t" && message.dialect == .apns)
    }
}
