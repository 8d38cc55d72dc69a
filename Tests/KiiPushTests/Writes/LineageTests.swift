import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct LineageTests {
    /// What stands in a message, and the hops that are read from it; nil for a stamp that is none.
    static let stamps: [(json: String, hops: Int?)] = [
        (#""_kl":"1;3;th.x""#, 3), (#""_kl":"1;0;x""#, 0), (#""_kl":"1;003;A.z_0:9-""#, 3),
        (#""_kl":"1;3;x;1700000000000""#, 3), (#""_kl":"1;3;x;0""#, 3), (#""_kl":"1;3;x;999999999999999""#, 3),
        (#""_kl":"1;999999999;x""#, 999_999_999),
        (#""_\u006bl":"1;3;th.x""#, 3), (#""_kl":"1;\u0033;th.x""#, 3),
        ("\"_kl\":\"1;3;\(String(repeating: "x", count: 64))\"", 3),
        ("\"_kl\":\"1;3;\(String(repeating: "x", count: 65))\"", nil),
        (#""_kl":"1;3;""#, nil), (#""_kl":"1;3;a b""#, nil), (#""_kl":"1;3;a\nb""#, nil), (#""_kl":"1;3;$(a)""#, nil),
        (#""_kl":"1;3;é""#, nil), (#""_kl":"1;3;a/b""#, nil), (#""_kl":"1;3;\u0000""#, nil),
        (#""_kl":"1;3;\u202e""#, nil),
        (#""_kl":"1;3;a;b""#, nil), (#""_kl":"1;3;a;""#, nil), (#""_kl":"1;3;a;-1""#, nil),
        (#""_kl":"1;3;a;1;2""#, 3), (#""_kl":"1;3;a;1;th.x""#, 3), (#""_kl":"1;3;a;;th.x""#, nil),
        (#""_kl":"1;3;a;1;""#, nil), (#""_kl":"1;3;a;1;b c""#, nil), (#""_kl":"1;3;a;1;b;c""#, nil),
        (#""_kl":"1;3;a;1000000000000000""#, nil),
        (#""_kl":"1;1000000000;x""#, nil), (#""_kl":"1;99999999999999999999999999;x""#, nil),
        (#""_kl":"1;-3;x""#, nil), (#""_kl":"1;+3;x""#, nil), (#""_kl":"1; 3;x""#, nil), (#""_kl":"1;3.0;x""#, nil),
        (#""_kl":"1;\u0663;x""#, nil), (#""_kl":"1;3""#, nil), (#""_kl":"1;""#, nil), (#""_kl":"1""#, nil),
        (#""_kl":"""#, nil), (#""_kl":";;""#, nil), (#""_kl":"2;3;x""#, nil), (#""_kl":"01;3;x""#, nil),
        (#""_kl":1"#, nil), (#""_kl":null"#, nil), (#""_kl":["1;3;x"]"#, nil), (#""_kl":{"_kl":"1;3;x"}"#, nil),
        (#""_KL":"1;3;x""#, nil), (#""x":{"_kl":"1;9;x"}"#, nil), (#""x":"1;9;x""#, nil),
    ]

    @Test("reads valid stamps and ignores everything else, which never ends an honest message", arguments: stamps)
    func read(json: String, hops: Int?) throws {
        let payload = RawPayload("{\(json),\"topic\":\"news\"}")
        #expect(try PushMessage(payload).lineage?.hops == hops)
        let expected = (hops ?? 0) > 8 ? "lineage" : "pass"
        #expect(try LoopGuard(clock: ManualClock()).judge(payload) == expected)
    }

    @Test("passes eight hops and ends the ninth, over every transport", arguments: PayloadFixture.KeyStyle.allCases)
    func limit(style: PayloadFixture.KeyStyle) throws {
        let loopGuard = LoopGuard(clock: ManualClock())
        for (hops, expected) in [(7, "pass"), (8, "pass"), (9, "lineage"), (1000, "lineage")] {
            let stamp = Lineage(hops: hops, origin: "th.x").stamp
            let fixture = PayloadFixture.pushToUser(data: [("text", .string("hello")), (Lineage.key, .string(stamp))])
            #expect(try loopGuard.judge(fixture.payload(style)) == expected, "\(hops)")
            let message = try PushMessage(fixture.payload(style))
            #expect(message.lineage == Lineage(hops: hops, origin: "th.x"))
            #expect(message.data["_kl"] == nil)
            #expect(message.data["text"] != nil)
        }
        loopGuard.settings = loopGuard.settings.without(.lineage)
        let ninth = PayloadFixture.pushToUser(data: [(Lineage.key, .string("1;9;x"))])
        #expect(try loopGuard.judge(ninth.payload(style)) == "pass")
        loopGuard.settings = LoopSettings(hops: 0)
        let first = PayloadFixture.pushToUser(data: [(Lineage.key, .string("1;1;x"))])
        #expect(try loopGuard.judge(first.payload(style)) == "lineage")
        #expect(try loopGuard.judge(PayloadFixture.pushToUser().payload(style)) == "pass")
    }

    @Test("ends two handlers that answer each other after eight answers")
    func pingPong() async throws {
        let clock = ManualClock()
        let devices = ["ping", "pong"].map { PushReceiver(me: [.thing(id: "th.\($0)")], clock: clock) }
        let sent = EventLog()
        for receiver in devices {
            receiver.onPushToUser(id: "answer") { _, context in sent.add(context.stamp) }
        }
        var outcomes: [String] = []
        var data: [(key: String, value: DataValue)] = []
        for number in 0..<10 {
            let fixture = PayloadFixture.pushToUser(sentAt: Int64(number), data: data)
            outcomes.append(await devices[number % 2].receive(fixture.payload(.strings)).description)
            data = [(Lineage.key, .string(try #require(sent.events.last)))]
        }
        #expect(outcomes == Array(repeating: "handled", count: 9) + ["looped (lineage)"])
        #expect(sent.events == (1...9).map { "1;\($0);th.ping;\($0 - 1)" + ($0.isMultiple(of: 2) ? ";th.pong" : "") })
    }

    @Test(
        "a handler's stamp adds one hop and keeps the origin",
        arguments: [
            ("1;3;th.x", "1;4;th.x"), ("1;8;a;5", "1;9;a"), ("1;999999999;x", "1;999999999;x"),
            ("2;3;x", "1;1;th.me"), ("1;8;a;b;", "1;1;th.me"), ("1;8;a b", "1;1;th.me"),
            ("garbage", "1;1;th.me"), (nil, "1;1;th.me"),
        ])
    func next(incoming: String?, outgoing: String) async {
        let receiver = PushReceiver(clock: ManualClock()) {
            LoopGuard(me: [.thing(id: "th.me")], settings: .standard.without(.lineage))
        }
        let log = EventLog()
        receiver.onAny(id: "r") { _, context in
            var values: [String: DataValue] = ["_kl": .number("7")]
            context.stamp(&values)
            log.add("\(context.stamp) \(values["_kl"]?.string ?? "")")
        }
        let data: [(key: String, value: DataValue)] = incoming.map { [(Lineage.key, .string($0))] } ?? []
        _ = await receiver.receive(PayloadFixture.pushToUser(data: data).payload(.long))
        let stamp = "\(outgoing);1700000000033" + (outgoing.hasSuffix("th.me") ? "" : ";th.me")
        #expect(log.events == ["\(stamp) \(stamp)"])
    }

    @Test(
        "without identities, each guard has one origin of its own"
    )
    func namelessOrigin() {
        let clock = ManualClock()
        let first = LoopGuard(clock: clock)
        #expect(first.origin == first.origin)
        #expect(first.origin != LoopGuard(clock: clock).origin)
        #expect(first.origin.utf8.count == 32)
        // An id that a stamp cannot carry names nobody, either.
        for id in ["", "a b", "é", "a;1", String(repeating: "x", count: 65)] {
            let odd = LoopGuard(me: [.user(id: id)], clock: clock)
            #expect(odd.origin.utf8.count == 32 && Lineage.canName(odd.origin))
        }
    }
}
