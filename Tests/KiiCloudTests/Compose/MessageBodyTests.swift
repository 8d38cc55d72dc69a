import KiiPush
import Testing

@testable import KiiCloud

@Suite("the body of the request that sends a push")
struct MessageBodyTests {
    @Test("a whole number of any type is a value")
    func integers() {
        let (count, byte, large) = (7, UInt8(7), UInt64.max)
        #expect(DataValue.integer(count) == 7 && DataValue.integer(byte) == 7)
        #expect(DataValue.integer(large) == .number("18446744073709551615"))
    }

    @Test("all that a message says is in its body, and is read back", arguments: [true, false])
    func roundTrip(isNamedGCM: Bool) throws {
        var message = OutgoingMessage(data: ["text": "a\"b", "n": 5, "x": 0.25, "on": false])
        message.type = "kind-of-mine"
        message.sends = [.sender, .origin]
        message.sendToDevelopment = false
        message.apns = APNSFields(alert: .init(title: "T", subtitle: "S", body: "B"), data: ["only": "apns"])
        message.apns.alert?.locKey = "L"
        message.apns.alert?.locArgs = ["1"]
        message.apns.contentAvailable = true
        message.apns.mutableContent = false
        message.apns.category = "C"
        message.apns.badge = 0
        message.apns.sound = "s"
        message.fcm = FCMFields(data: ["only": "fcm"])
        message.fcm.isNamedGCM = isNamedGCM
        message.fcm.collapseKey = "k"
        message.fcm.delayWhileIdle = true
        message.fcm.timeToLive = 60
        message.fcm.restrictedPackageName = "p"
        message.fcm.dryRun = false
        message.fcm.notification = .object([("title", "T")])
        message.mqtt = MQTTFields(data: ["only": "mqtt"])
        (message.mqtt.dryRun, message.mqtt.retain, message.mqtt.qos) = (false, true, 1)
        message.jpush = JPushFields(isEnabled: true, data: ["only": "jpush"])
        #expect(try OutgoingMessage(body: message.body) == message)
        #expect(message.body.contains(isNamedGCM ? #""gcm":{"# : #""fcm":{"#))
    }

    @Test("a message of defaults states each of them")
    func defaults() throws {
        #expect(
            OutgoingMessage(data: ["a": 1]).body == #"""
                {"data":{"a":1},"sendToDevelopment":true,"sendToProduction":true,"sendSender":true,"sendObjectScope":true,"sendTopicID":true,"sendWhen":true,"sendAppID":false,"sendOrigin":false,"apns":{"enabled":true},"fcm":{"enabled":true},"jpush":{"enabled":false},"mqtt":{"enabled":true}}
                """#)
        #expect(try OutgoingMessage(body: "{}") == OutgoingMessage())
    }

    @Test(
        "a network is on when the body turns it on; a body that turns none on means the SDKs' three",
        arguments: [
            (#"{}"#, "apns fcm mqtt"), (#"{"mqtt":{"enabled":true}}"#, "mqtt"), (#"{"jpush":{}}"#, "jpush"),
            (#"{"gcm":{"enabled":false},"mqtt":{"enabled":false}}"#, "apns"),
            (#"{"apns":{"alert":{"body":"x"}},"gcm":{"enabled":false},"mqtt":{"enabled":false}}"#, "apns"),
            (#"{"gcm":{"enabled":false},"fcm":{"enabled":true}}"#, "fcm"),
            (#"{"gcm":{"enabled":true},"fcm":{"enabled":false}}"#, "fcm"),
            (#"{"apns":{"enabled":false},"fcm":{"enabled":false},"mqtt":{"enabled":false}}"#, ""),
        ])
    func networks(body: String, expected: String) throws {
        let names = try OutgoingMessage(body: body).networks.map(\.rawValue)
        #expect(names.joined(separator: " ") == expected)
    }

    @Test("of fcm and gcm the one that is on counts, fcm first")
    func gcm() throws {
        let both = #"{"gcm":{"data":{"a":"old"}},"fcm":{"data":{"a":"new"}}}"#
        #expect(try OutgoingMessage(body: both).fcm.data["a"] == "new")
        let old = try OutgoingMessage(body: #"{"gcm":{"data":{"a":"old"}},"fcm":{"enabled":false}}"#)
        #expect(old.fcm.data["a"] == "old" && old.fcm.isNamedGCM)
    }

    @Test("1 and 0 count as true and false where Kii's SDKs write them")
    func flags() throws {
        let message = try OutgoingMessage(body: #"{"apns":{"contentAvailable":1,"mutableContent":0}}"#)
        #expect(message.apns.contentAvailable == true && message.apns.mutableContent == false)
    }

    @Test(
        "what is wrong is told with its key and its byte",
        arguments: [
            ("", "", 0, "empty"), ("{", "", 1, "unexpectedEnd"), ("[]", "", 0, "an object"),
            (#"{"sendSendr":false}"#, "sendSendr", 1, "did you mean 'sendSender'?"),
            (#"{"sendSender":"no"}"#, "sendSender", 14, "true or false"),
            (#"{"data":[1]}"#, "data", 8, "an object"), (#"{"data":{"a":1,"a":2}}"#, "data.a", 15, "duplicate key"),
            (#"{"apns":{"alert":"text"}}"#, "apns.alert", 17, "an object"),
            (#"{"apns":{"alert":{"body":5}}}"#, "apns.alert.body", 25, "a string"),
            (#"{"apns":{"alert":{"locArgs":["a",1]}}}"#, "apns.alert.locArgs", 33, "a string"),
            (#"{"apns":{"badge":1.5}}"#, "apns.badge", 17, "a whole number"),
            (#"{"apns":{"contentAvailable":2}}"#, "apns.contentAvailable", 28, "expected true, false, 1 or 0"),
            (#"{"mqtt":{"enbled":true}}"#, "mqtt.enbled", 9, "did you mean 'enabled'?"),
            (#"{"gcm":{"notification":"x"}}"#, "gcm.notification", 23, "an object"),
        ])
    func errors(body: String, path: String, offset: Int, detail: String) throws {
        let error = try #require(throws: MessageBodyError.self) { try OutgoingMessage(body: body) }
        #expect(error.path == path && error.offset == offset, "\(error)")
        #expect(error.description.contains(detail), "\(error)")
    }

    @Test("an error holds no value of the text")
    func silent() throws {
        for body in [#"{"sendSender":"hidden"}"#, #"{"data":"hidden"}"#, #"{"apns":{"badge":"hidden"}}"#] {
            let error = try #require(throws: MessageBodyError.self) { try OutgoingMessage(body: body) }
            #expect(!"\(error)".contains("hidden"))
        }
    }

    @Test("keys are compared byte for byte")
    func exactKeys() {
        var data: KeyedData = ["\u{E9}": 1, "e\u{301}": 2, "a": 1, "a": 3]
        #expect(data.members.count == 3 && data["a"] == 3)
        data["a"] = nil
        #expect(data.members.map(\.key.unicodeScalars.count) == [1, 2] && !data.isEmpty)
        #expect(data != ["e\u{301}": 1, "\u{E9}": 2])
        // The sign for kelvin, which Swift takes for a K.
        let error = #expect(throws: MessageBodyError.self) {
            try OutgoingMessage(body: "{\"apns\":{\"alert\":{\"locKey\":\"a\",\"loc\u{212A}ey\":\"b\"}}}")
        }
        #expect(error?.detail.hasPrefix("unknown key ") == true)
    }
}

@Suite("bodies that somebody damaged")
struct HostileBodyTests {
    private static let body = #"""
        {"data":{"text":"é\n","n":-1.5e3,"on":true,"deep":{"a":[1,null]}},"sendTopicID":false,"pushMessageType":"t",
         "apns":{"alert":{"body":"b","locArgs":["x"]},"badge":1},"gcm":{"data":{"k":"v"},"notification":{"title":"t"}},
         "mqtt":{"enabled":false,"qos":0},"jpush":{"data":{"k":2}}}
        """#

    @Test("each is refused with a place in it, or read to what its own body says again")
    func damaged() throws {
        let bytes = Array(Self.body.utf8)
        var accepted = 0
        for index in bytes.indices {
            for byte in [UInt8(ascii: "\""), UInt8(ascii: "}"), UInt8(ascii: "1"), UInt8(ascii: "a"), 0x00, 0xFF] {
                var damaged = bytes
                damaged[index] = byte
                do throws(MessageBodyError) {
                    let message = try OutgoingMessage(body: damaged)
                    #expect(try OutgoingMessage(body: message.body) == message)
                    _ = message.problems(sentTo: Samples.documented)
                    accepted += 1
                } catch { #expect((0...bytes.count).contains(error.offset)) }
            }
        }
        #expect(accepted > 100)
    }

    @Test("one that is too large, too deep or has too many members is refused")
    func bounds() {
        let large = #"{"data":{"k":""# + String(repeating: "x", count: OutgoingMessage.mostBodyBytes) + #""}}"#
        let deep = #"{"data":{"k":"# + String(repeating: "[", count: 40) + String(repeating: "]", count: 40) + "}}"
        let many = #"{"data":{"# + (0..<1100).map { "\"k\($0)\":1" }.joined(separator: ",") + "}}"
        for body in [large, deep, many] {
            let error = #expect(throws: MessageBodyError.self) { try OutgoingMessage(body: body) }
            #expect(error?.detail.contains("limitExceeded") == true)
        }
    }
}
