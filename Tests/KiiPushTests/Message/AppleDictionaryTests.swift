import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

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
        #expect(aps.alert?.title == "T" && aps.alert?.subtitle == "S" && aps.alert?.body == "B")
        #expect(aps.alert?.locKey == "K" && aps.alert?.locArgs == ["a"] && aps.alert?.launchImage == "i")
        #expect(aps.badge == 5 && aps.sound == "x.wav" && aps.category == "C")
        #expect(aps.contentAvailable && aps.mutableContent && !aps.isSilent && aps.threadID == "t")
    }

    @Test("the app's own texts are named by keys, with what is put into them by position")
    func localized() throws {
        let alert = try #require(
            try aps(
                #"{"alert":{"title-loc-key":"TK","title-loc-args":["a",1,null],"subtitle-loc-key":"SK","#
                    + #""subtitle-loc-args":["é"],"loc-key":"K","loc-args":[],"action-loc-key":"A","loc-key":"twice"}}"#
            )?.alert)
        #expect(alert.titleLocKey == "TK" && alert.titleLocArgs == ["a", "1", ""])
        #expect(alert.subtitleLocKey == "SK" && alert.subtitleLocArgs == ["é"])
        #expect(alert.locKey == "K" && alert.locArgs.isEmpty && alert.actionLocKey == "A")
        #expect(alert.title == nil && alert.body == nil && alert.launchImage == nil)
        let wrong = try aps(#"{"alert":{"loc-key":1,"loc-args":"a","title-loc-args":{"a":1}}}"#)?.alert
        #expect(wrong == Alert(title: nil, subtitle: nil, body: nil))
        #expect(try aps(#"{"alert":{"loc-key":"K"}}"#)?.alert != aps(#"{"alert":{"loc-key":"L"}}"#)?.alert)
    }

    private static let full =
        #"{"alert":{"body":"B","sound-of":"s"},"thread-id":"t","interruption-level":"time-sensitive","#
        + #""relevance-score":0.5,"sound":{"name":"x","critical":1},"url-args":["a"],"own":null,"own":1}"#

    @Test("every key of the dictionary can be reached, whatever its type", arguments: [nil, Transport.apns, .mqtt])
    func anyKey(_ transport: Transport?) throws {
        let aps = try #require(try PushMessage(json: " {\"to\":\"\\u0074\",\"aps\":\(Self.full)}", over: transport).aps)
        #expect(aps["interruption-level"] == .string("time-sensitive") && aps["relevance-score"]?.double == 0.5)
        #expect(aps["sound"]?["critical"]?.bool == true && aps["url-args"]?[0] == .string("a"))
        #expect(aps["alert"]?["sound-of"]?.string == "s" && aps["thread-id"]?.string == aps.threadID)
        #expect(aps["own"] == .null, "of a nested key that appears twice the first counts")
        #expect(aps["to"] == nil && aps["aps"] == nil)
        #expect(
            aps.keys == [
                "alert", "thread-id", "interruption-level", "relevance-score", "sound", "url-args", "own",
            ])
        struct Level: Decodable, Equatable {
            var relevance: Double
            enum CodingKeys: String, CodingKey { case relevance = "relevance-score" }
        }
        #expect(try aps.decode(Level.self) == Level(relevance: 0.5))
    }

    @Test("two dictionaries are the same when they hold the same, in any order")
    func equality() throws {
        let (one, turned) = (try aps(#"{"badge":1,"own":"x"}"#), try aps(#"{"own":"x","badge":1}"#))
        #expect(one == turned && one?.hashValue == turned?.hashValue)
        #expect(try one != aps(#"{"badge":1,"own":"y"}"#))
    }

    @Test("an empty dictionary is present, and all its values are missing")
    func empty() throws {
        let aps = try #require(try aps("{}"))
        #expect(aps.alert == nil && aps.badge == nil && aps.sound == nil && aps.category == nil)
        #expect(!aps.contentAvailable && !aps.mutableContent && !aps.isSilent)
    }

    @Test(
        "the alert is a string or an object; one of another type counts as missing",
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
            ("false", false), ("null", false), ("\"\"", false), ("\"yes\"", false), ("[1]", false), ("{}", false),
        ])
    func flags(_ value: String, _ isSet: Bool) throws {
        let aps = try #require(try aps("{\"content-available\":\(value),\"mutable-content\":\(value)}"))
        #expect(aps.contentAvailable == isSet && aps.mutableContent == isSet && aps.isSilent == isSet)
    }

    @Test(
        "a push is silent if it wakes the app and shows nothing",
        arguments: [
            (#"{"content-available":1}"#, true), (#"{"content-available":1,"badge":1,"sound":"x"}"#, true),
            (#"{"content-available":1,"alert":"x"}"#, false), (#"{"content-available":1,"alert":{"body":"x"}}"#, false),
            (#"{"content-available":1,"alert":7}"#, true), (#"{"content-available":0}"#, false),
            (#"{"alert":"x"}"#, false), ("{}", false),
        ])
    func silent(_ text: String, _ isSilent: Bool) throws {
        #expect(try aps(text)?.isSilent == isSilent)
    }

    @Test("an aps that is not an object is no dictionary", arguments: [#""x""#, "1", "null", "[]", "true"])
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
