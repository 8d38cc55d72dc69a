import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// The digest of a whole payload: all that is known of a message without a better key.
struct WeakDedupeKeyTests {
    private func key(_ json: String, _ transport: Transport? = nil) throws -> DedupeKey {
        let keys = try PushMessage(RawPayload(json, transport: transport)).dedupeKeys(secret: .published)
        #expect(keys.strength == .weak)
        #expect(keys.secondary == nil)
        return keys.primary
    }

    @Test(
        "equivalent JSON spellings have the same weak key",
        arguments: [
            (#"{"a":"1","b":"2"}"#, #"{"b":"2","a":"1"}"#),
            (#"{"a":"1"}"#, " {\n \"a\" : \"1\" } "),
            (#"{"a":"x"}"#, #"{"\u0061":"\u0078"}"#),
            (#"{"a":10}"#, #"{"a":"10"}"#),
            (#"{"a":10.50}"#, #"{"a":"10.50"}"#),
            (#"{"a":true,"b":false}"#, #"{"a":"true","b":"false"}"#),
            (#"{"o":{"a":1,"b":{"c":2,"d":3}}}"#, #"{"o":{"b":{"d":"3","c":"2"},"a":"1"}}"#),
            (#"{"l":[1,{"a":1,"b":2}]}"#, #"{"l":["1",{"b":"2","a":"1"}]}"#),
            // Of a duplicate nested key the first counts, however it is written and whatever the second holds.
            (#"{"o":{"a":1,"a":2}}"#, #"{"o":{"a":1}}"#),
            (#"{"o":{"a":1,"a":1}}"#, #"{"o":{"a":1}}"#),
            (#"{"o":{"b":3,"a":1,"\u0061":{"x":[1,{"b":2}]},"c":4}}"#, #"{"o":{"a":1,"b":3,"c":4}}"#),
            (#"{"l":[{"a":[1],"a":[2]},{"a":2}]}"#, #"{"l":[{"a":[1]},{"a":2}]}"#),
            (#"{"o":{"a":{"b":1,"b":2},"a":null,"d":0}}"#, #"{"o":{"d":0,"a":{"b":1}}}"#),
            (
                #"{"o":{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"a":9,"d":9,"e":9,"f":9,"g":7,"g":9}}"#,
                #"{"o":{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7}}"#
            ),
            (#"{"a":"1","from":"5","collapse_key":"x"}"#, #"{"a":"1"}"#),
            (#"{"a":"1","google.sent_time":1,"gcm.notification.e":"1"}"#, #"{"a":"1","google.ttl":60}"#),
        ])
    func same(_ one: String, _ other: String) throws { #expect(try key(one) == key(other)) }

    @Test("different contents have different weak keys")
    func different() throws {
        let payloads = [
            "{}", #"{"a":""}"#, #"{"a":null}"#, #"{"a":"null"}"#, #"{"a":{}}"#, #"{"a":[]}"#, #"{"a":[[]]}"#,
            #"{"a":[[],[]]}"#, #"{"a":[[[]]]}"#, #"{"a":[null]}"#, #"{"a":[""]}"#, #"{"a":[{}]}"#, #"{"a":{"":""}}"#,
            #"{"a":"1"}"#, #"{"a":"1.0"}"#, #"{"a":"01"}"#, #"{"A":"1"}"#, #"{"a":["1"]}"#, #"{"a":{"a":"1"}}"#,
            #"{"a":"1","b":"2"}"#, #"{"a":"2","b":"1"}"#, #"{"a":["1","2"]}"#, #"{"a":["2","1"]}"#,
            #"{"a":["12"]}"#, #"{"a":[["1"],"2"]}"#, #"{"a":[["1","2"]]}"#, #"{"a":["1",["2"]]}"#,
            #"{"a":[[["1"]]]}"#, #"{"a":[[],"1",[]]}"#, #"{"a":[[["1"],"2"]]}"#, #"{"a":[[[],"1"],[]]}"#,
            #"{"a":{"b":"1","b":"2"}}"#, #"{"a":{"b":"2","b":"1"}}"#, #"{"a":{"b":"1","c":"1","b":"2"}}"#,
            #"{"a":{"x":{"y":"1"}}}"#, #"{"a":{"x":"1","y":"1"}}"#, #"{"a":{"y":{"x":"1"}}}"#,
            #"{"from ":"1"}"#, #"{"a":{"from":"1"}}"#, #"{"a":{"from":"2"}}"#, #"{"googles":"1"}"#, #"{"_kl":"1;1;x"}"#,
        ]
        let keys = try payloads.map { try key($0) }
        for (index, one) in keys.enumerated() {
            for (earlier, other) in keys[..<index].enumerated() {
                #expect(one != other, "\(payloads[earlier]) and \(payloads[index])")
            }
        }
    }

    @Test("Apple's dictionary counts, and so do Kii's own fields")
    func kiisOwnKeys() throws {
        let alerts = ["one", "two"].map { #"{"aps":{"alert":"\#($0)"}}"# }
        #expect(try key(alerts[0]) != key(alerts[1]))
        let senders = ["one", "two"].map { #"{"sender":"\#($0)"}"# }
        #expect(try key(senders[0], .mqtt) != key(senders[1], .mqtt))
    }

    @Test("FCM's own id does not change a weak key")
    func fcmID() throws {
        let ids = [#","google.message_id":"0:1""#, #","google.message_id":"0:2""#, ""]
        #expect(try Set(ids.map { try key("{\"a\":\"1\"\($0)}", .mqtt) }).count == 1)
        let ambiguous = #"{"bucketID":"b","topic":"t""#
        #expect(try Set(ids.map { try key("\(ambiguous)\($0)}", .fcm) }).count == 1, "it can hide no honest one")
    }

    @Test("equal payloads of one MQTT topic have the same weak key, retained or not; those of two topics have two")
    func topics() throws {
        func key(_ publish: MQTTPublish) throws -> DedupeKey {
            var payload = RawPayload(#"{"value":"on"}"#, transport: .mqtt)
            payload.mqtt = publish
            let keys = try PushMessage(payload).dedupeKeys(secret: .published)
            #expect(keys.strength == .weak && keys.secondary == nil)
            return keys.primary
        }
        var (retained, request) = (MQTTPublish(topic: "cmd/a/set"), MQTTPublish(topic: ""))
        (retained.isRetained, request.responseTopic) = (true, "cmd/a/set")
        let one = try key(MQTTPublish(topic: "cmd/a/set"))
        #expect(try key(retained) == one)
        #expect(try key(MQTTPublish(topic: "cmd/b/set")) != one && key(request) != one)
    }

    @Test("the transport does not change a weak key")
    func transport() throws { #expect(try key(#"{"a":"1"}"#, .mqtt) == key(#"{"a":"1"}"#, .fcm)) }
}
