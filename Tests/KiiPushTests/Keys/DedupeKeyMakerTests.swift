import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct DedupeKeyMakerTests {
    /// Names a message to a topic by the order in its data.
    static let orders = DedupeKeyMaker(
        pushToUser: { message, key in
            guard let order = message.data["order"]?.string else { return nil }
            key.add(order)
            return .strong
        })

    private func order(_ order: String?, sentAt: Int64 = 1, app: String = "0123abcd") throws -> PushMessage {
        let data: [(String, DataValue)] = order.map { [("order", .string($0))] } ?? []
        return try PushMessage(PayloadFixture.pushToUser(sentAt: sentAt, data: data, app: app).payload(.long))
    }

    private func keys(_ maker: DedupeKeyMaker, _ message: PushMessage, app: String? = nil) -> DedupeKeys {
        maker.keys(of: message, app: app, secret: .published)
    }

    @Test("a replaced key decides which messages of its kind are duplicates")
    func replaced() throws {
        let one = keys(Self.orders, try order("A", sentAt: 1))
        #expect(one.strength == .strong && one.secondary == nil)
        #expect(try keys(Self.orders, order("A", sentAt: 2)) == one)
        #expect(try keys(Self.orders, order("B", sentAt: 1)) != one)
        #expect(try Self.orders.keys(of: order("A"), secret: DedupeSecret(1, 2)) != one)
        #expect(try keys(Self.orders, order("A", app: "ffff0000")) != one, "another app's order")
        #expect(try order("A").dedupeKeys(secret: .published).primary != one.primary)
    }

    @Test("other kinds, messages without a replaced key, and ambiguous ones keep their automatic keys")
    func automatic() throws {
        let noParts = DedupeKeyMaker(pushToUser: { message, key in
            key.add(message.data["order"]?.string)
            return .strong
        })
        let ambiguous = [
            #"{"topic":"t","bucketID":"b","order":"A","when":1}"#, #"{"topic":7,"bucketID":{}}"#,
            #"{"topic":"t","origin":"EVENT"}"#, #"{"sourceURI":"kiicloud://users/u","when":"x"}"#,
        ]
        let messages =
            try ambiguous.map { try PushMessage(RawPayload($0)) } + [
                order(nil), PushMessage(PayloadFixture.pushToApp().payload(.long)),
                PushMessage(PayloadFixture.directPush().payload(.long)),
            ]
        for message in messages.prefix(4) {
            #expect(message.certainty == .ambiguous)
            #expect(keys(Self.maker(["x"], .strong), message) == message.dedupeKeys(secret: .published))
        }
        for message in messages {
            for maker in [Self.orders, noParts, .automatic, DedupeKeyMaker()] {
                #expect(keys(maker, message) == message.dedupeKeys(secret: .published))
            }
        }
        #expect(try keys(noParts, order("A")) != order("A").dedupeKeys(secret: .published))
    }

    @Test("adjacent parts, kinds, strengths and automatic keys cannot collide")
    func apart() throws {
        let lists: [[any Sendable]] = [
            ["ab", "c"], ["a", "bc"], ["abc"], ["abc", ""], ["", "abc"], ["a", "b", "c"], ["1"], [Int64(1)],
            [Int64(-1)], [Int64(1), Int64(2)], [Int64(2), Int64(1)], ["a", Int64(0)], [Int64(0), "a"], [Int64(0)], [""],
            ["", ""], ["a", Missing()], [Missing(), "a"], ["a"], [String(repeating: "a", count: 8)],
            [String(repeating: "a", count: 16)], ["\u{E9}"], ["e\u{301}"], ["\0"], ["\0\0"], [Int64.max], [Int64.min],
        ]
        var keys: [DedupeKey: String] = [:]
        for list in lists {
            for (kind, fixture) in [
                (PushKind.pushToApp, PayloadFixture.pushToApp()), (.pushToUser, .pushToUser()),
                (.directPush, .directPush()),
            ] {
                for strength in [DedupeKeys.Strength.strong, .weak] {
                    let maker = Self.maker(list, strength)
                    let message = try PushMessage(fixture.payload(.long))
                    #expect(message.kind == kind)
                    let found = self.keys(maker, message)
                    #expect(found.strength == strength)
                    let name = "\(list) \(kind) \(strength)"
                    #expect(keys[found.primary] == nil, "\(name) and \(keys[found.primary] ?? "")")
                    keys[found.primary] = name
                    let automatic = message.dedupeKeys(secret: .published)
                    #expect(found.primary != automatic.primary && found.primary != automatic.secondary)
                }
            }
        }
    }

    private struct Missing {}

    private static func maker(_ parts: [any Sendable], _ strength: DedupeKeys.Strength) -> DedupeKeyMaker {
        let add: @Sendable (inout DedupeKeyBuilder) -> DedupeKeys.Strength = { key in
            for part in parts {
                if let text = part as? String { key.add(text) }
                if let number = part as? Int64 { key.add(number) }
                if part is Missing { key.add(nil as String?) }
            }
            return strength
        }
        return DedupeKeyMaker(
            pushToApp: { _, key in add(&key) }, pushToUser: { _, key in add(&key) },
            directPush: { _, key in add(&key) })
    }

    @Test(
        "a payload cannot forge another key's parts",
        arguments: ["a\u{15}", "\u{14}", "\0\0\0\0\0\0\0\u{15}"])
    func hostileText(text: String) throws {
        let two = DedupeKeyMaker(pushToUser: { message, key in
            key.add(message.data["order"]?.string)
            key.add("b")
            return .strong
        })
        let one = keys(Self.orders, try order(text + "b"))
        #expect(try keys(two, order(text)) != one)
    }

    @Test("drops duplicates by replaced keys, weak ones for five seconds")
    func deduplicator() throws {
        let clock = ManualClock()
        let texts = DedupeKeyMaker(directPush: { message, key in
            key.add(message.data["text"]?.string)
            return .weak
        })
        let deduplicator = Deduplicator(keys: texts, clock: clock)
        func send(_ text: String, _ more: String) throws -> Verdict {
            let data: [(String, DataValue)] = [("text", .string(text)), ("more", .string(more))]
            let payload = PayloadFixture.directPush(data: data).payload(.long)
            return try deduplicator.judge(RoutedMessage(payload.arrived(at: clock.now)))
        }
        #expect(try send("a", "1") == .pass)
        #expect(try send("a", "2") == .drop(.duplicate))
        #expect(try send("b", "1") == .pass)
        clock.advance(by: .seconds(5))
        #expect(try send("a", "3") == .pass)
    }

    @Test("a missing app counts as the receiver's in a replaced key too")
    func app() throws {
        var fixture = PayloadFixture.pushToUser(data: [("order", .string("A"))])
        let named = keys(Self.orders, try PushMessage(fixture.payload(.long)))
        fixture.fields[.scopeAppID] = nil
        let nameless = try PushMessage(fixture.payload(.long))
        #expect(keys(Self.orders, nameless, app: "0123abcd") == named)
        #expect(keys(Self.orders, nameless, app: "ffff0000") != named)
    }
}

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

    @Test("the transport does not change a weak key")
    func transport() throws { #expect(try key(#"{"a":"1"}"#, .mqtt) == key(#"{"a":"1"}"#, .fcm)) }
}
