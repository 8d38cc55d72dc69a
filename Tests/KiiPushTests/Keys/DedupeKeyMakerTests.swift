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

    @Test("other kinds, and messages without a replaced key, keep their automatic keys")
    func automatic() throws {
        let noParts = DedupeKeyMaker(pushToUser: { message, key in
            key.add(message.data["order"]?.string)
            return .strong
        })
        let ambiguous = try PushMessage(RawPayload(#"{"topic":"t","bucketID":"b","order":"A","when":1}"#))
        #expect(ambiguous.certainty == .ambiguous)
        let messages = [
            try order(nil), try PushMessage(PayloadFixture.pushToApp().payload(.long)),
            try PushMessage(PayloadFixture.directPush().payload(.long)), ambiguous,
        ]
        for message in messages {
            for maker in [Self.orders, noParts, .automatic, DedupeKeyMaker()] {
                #expect(keys(maker, message) == message.dedupeKeys(secret: .published))
            }
        }
        #expect(try keys(noParts, order("A")) != order("A").dedupeKeys(secret: .published))
    }

    @Test("an ambiguous message keeps its digest, whatever kind it has")
    func ambiguous() throws {
        let maker = Self.maker(["x"], .strong)
        let payloads = [
            #"{"topic":"t","bucketID":"b"}"#, #"{"topic":7,"bucketID":{}}"#, #"{"topic":"t","origin":"EVENT"}"#,
            #"{"sourceURI":"kiicloud://users/u","when":"x"}"#,
        ]
        for payload in payloads {
            let message = try PushMessage(RawPayload(payload))
            #expect(message.certainty == .ambiguous, "\(payload)")
            #expect(keys(maker, message) == message.dedupeKeys(secret: .published))
            #expect(keys(maker, message).strength == .weak)
        }
    }

    @Test("adjacent parts, kinds, strengths and automatic keys cannot collide")
    func apart() throws {
        let lists: [[any Sendable]] = [
            ["ab", "c"], ["a", "bc"], ["abc"], ["abc", ""], ["", "abc"], ["a", "b", "c"], ["1"], [Int64(1)],
            [Int64(-1)],
            [Int64(1), Int64(2)], [Int64(2), Int64(1)], ["a", Int64(0)], [Int64(0), "a"], [Int64(0)], [""], ["", ""],
            ["a", Missing()], [Missing(), "a"], ["a"], [String(repeating: "a", count: 8)],
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
            var payload = PayloadFixture.directPush(data: data).payload(.long)
            payload.arrivedAt = clock.now
            var message = try RoutedMessage(payload)
            let verdict = try deduplicator.admit(&message)
            if verdict == .pass { deduplicator.settle(message, .handled(MatchedRoutes())) }
            return verdict
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
