import KiiPush
import KiiPushDelivery
import KiiPushRules
import KiiPushContracts
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPushTestSupport

/// The code of doc comments, so that it compiles and does what the comment says.
@Suite("Documented code")
struct DocumentedCodeTests {
    private let bytes = PayloadFixture.pushToApp(scope: .user(KiiUser(id: "U1"))).payload(.long).bytes

    @Test("a payload can be looked at without a receiver")
    func message() throws {
        let message = try PushMessage(RawPayload(bytes, transport: .mqtt))
        #expect(message.kind == .pushToApp)
    }

    @Test("the receiver's own example handles a push")
    func receiver() async {
        let receiver = PushReceiver(app: "0123abcd", me: [.thing(id: "th.1")])
        receiver.onPushToApp(bucket: "settings", scope: .user("*")) { event, context in
            print(event.bucket.name, event.scope)
        }
        let outcome = await receiver.receive(RawPayload(bytes, transport: .mqtt))
        #expect(outcome.name == "handled")
    }

    @Test("the builder's own example makes its chain", arguments: [true, false])
    func builder(quietAtNight: Bool) {
        let receiver =
            PushReceiver(app: "0123abcd") {
                Deduplicator()
                LoopGuard(me: [.thing(id: "th.1")])
                if quietAtNight { QuietHours() }
                ScopeFilter(serving: [.app, .thing("th.1")])
            }
        #expect(receiver.middleware.contains("QuietHours") == quietAtNight)
    }

    @Test("the manual clock's own example turns the clock")
    func clock() {
        let clock = ManualClock()
        let receiver = PushReceiver(clock: clock)
        clock.advance(by: .seconds(601))
        #expect(clock.now == MonotonicInstant(nanoseconds: 601_000_000_000) && receiver.metrics.received == 0)
    }

    @Test("the fixture's own example writes a payload")
    func fixture() throws {
        let fixture = PayloadFixture.pushToApp(bucket: "settings", object: "o-1", scope: .user(KiiUser(id: "U1")))
        let payload = fixture.payload(.long)
        #expect(try PushMessage(payload).object?.uri.description == "kiicloud://users/U1/buckets/settings/objects/o-1")
    }

    @Test("a write ends as done or failed, as its own example says", arguments: [true, false])
    func ownWrite(fails: Bool) async {
        let receiver = PushReceiver(app: "0123abcd")
        let cloud = Cloud(fails: fails)
        receiver.onPushToApp(id: "settings", bucket: "settings", object: "*") { event, context in
            try await context.writing(event.object) {
                .done(modifiedAt: try await cloud.put(event.object))
            }
        }
        let first = await receiver.receive(PayloadFixture.pushToApp(sentAt: 1, modifiedAt: 1).payload(.long))
        #expect(first.name == (fails ? "failed" : "handled"))
        let echo = PayloadFixture.pushToApp(sender: nil, sentAt: 2, modifiedAt: 2)
        #expect(await "\(receiver.receive(echo.payload(.long)))" == (fails ? "failed (settings)" : "looped (echo)"))
    }

    /// An object's stamp a second before the object was modified.
    private static let fresh = 1_699_999_999_000

    @Test(
        "an object's lineage goes on, and ends after eight hops",
        arguments: [nil, "1;8;th.1;\(fresh)", "1;9;th.1;\(fresh)", "1;9;th.1", "odd"])
    func continuing(stamp: String?) async {
        let receiver = PushReceiver(app: "0123abcd", me: [.thing(id: "th.2")], clock: ManualClock())
        let written = Mutex<String?>(nil)
        receiver.onPushToApp(id: "settings", bucket: "settings", object: "*") { event, context in
            var fields = [Lineage.key: stamp]
            let context = try context.continuing(fields[Lineage.key] ?? nil)
            fields[Lineage.key] = context.stamp
            written.withLock { $0 = context.stamp }
        }
        let outcome = await receiver.receive(PayloadFixture.pushToApp().payload(.long))
        let isOver = stamp == "1;9;th.1;\(Self.fresh)"
        #expect("\(outcome)" == (isOver ? "looped (lineage)" : "handled"))
        let next = stamp == "1;8;th.1;\(Self.fresh)" ? "1;9;th.1" : "1;1;th.2"
        let maker = next.hasSuffix("th.1") ? ";th.2" : ""
        #expect(written.withLock { $0 } == (isOver ? nil : "\(next);1700000000033\(maker)"))
    }

    @Test("an object's lineage goes on with the fields that the server returns", arguments: [0, 60_000])
    func continuingFields(modifiedLater: Int) async {
        let receiver = PushReceiver(app: "0123abcd", me: [.thing(id: "th.2")], clock: ManualClock())
        let written = Mutex<String?>(nil)
        receiver.onPushToApp(id: "settings", bucket: "settings", object: "*") { event, context in
            var fields: [String: DataValue] = [
                "_kl": .string("1;3;th.1;\(Self.fresh)"), "_modified": .number("\(Self.fresh + 20 + modifiedLater)"),
            ]
            let context = try context.continuing(fields: fields)
            context.stamp(&fields)
            written.withLock { $0 = fields["_kl"]?.string }
        }
        _ = await receiver.receive(PayloadFixture.pushToApp().payload(.long))
        // Somebody has changed the object since, without a stamp.
        let next = modifiedLater == 0 ? "1;4;th.1;1700000000033;th.2" : "1;1;th.2;1700000000033"
        #expect(written.withLock { $0 } == next)
    }

    private struct Cloud {
        struct Unreachable: Error {}
        let fails: Bool
        func put(_ object: KiiObject) async throws -> Int64 {
            if fails { throw Unreachable() }
            return 2
        }
    }

    @Test("the fleet's own example ends, and shows what it says")
    func fleet() async {
        let fleet = SimulatedFleet(devices: 10) { device in
            let receiver = PushReceiver(app: SimulatedCloud.app, me: [device.identity], clock: device.clock)
            receiver.onPushToApp(bucket: "settings", object: "*") { event, context in
                try await context.writing(event.object) { .done(modifiedAt: try device.put(event.object)) }
            }
            return receiver
        }
        fleet.cloud.put(KiiObject(bucket: KiiBucket(scope: .app, name: "settings"), id: "o-1"))
        let report = await fleet.run(for: .seconds(600))
        // A route's writes: 20 at once, and six a minute.
        #expect(report.mostHandled <= 20 + 60)
    }

    @Test("the lint's own example tells errors from warnings")
    func lint() throws {
        let text = #"{"version":1,"rules":[{"id":"all","when":{},"then":{"handler":"relaod"}}]}"#
        let rules = try RoutingRules(text, file: "rules.json")
        let findings = rules.lint(handlers: ["reload", "notify"])
        for finding in findings where finding.severity == .error { print(finding) }
        #expect(findings.map(\.code) == [.unusedHandler, .unusedHandler, .unknownHandler])
    }

    @Test("the parameters' own example gives a device its values")
    func params() throws {
        let text = #"{"version":1,"params":{"thing":{"type":"string"},"limit":{"type":"number"}},"rules":[]}"#
        let rules = try RoutingRules(text, params: ["thing": "th.7", "limit": "21"])
        #expect(rules.params.map(\.name) == ["thing", "limit"])
    }

    @Test("the rules' own example loads them")
    func rules() throws {
        let text = #"{"version":1,"rules":[{"id":"all","when":{},"then":{"handler":"reload"}}]}"#
        let rules = try RoutingRules(text, file: "rules.json")
        let receiver = PushReceiver(rules: rules)
        receiver.register("reload") { message, context in print(message.kind) }
        try receiver.load(rules)
        #expect(receiver.routes.map(\.id) == ["all"])
    }

    @Test("the data conditions' own example asks for data")
    func data() throws {
        let hot: [DataCondition] = [.data("temp", .greater(30)), .data("mode", ["eco", "auto-*"])]
        let nested: [DataCondition] = [.data("/rooms/*/temp", .greater(30))]
        let message = try PushMessage(RawPayload(#"{"temp":"31","mode":"auto-2","rooms":[{"temp":9},{"temp":31}]}"#))
        #expect((hot + nested).allSatisfy { $0.holds(for: message) })
    }

    private typealias MyStore = InMemorySeenStore

    @Test("my store meets the guarantees of a seen store")
    func contract() async {
        await SeenStoreContract { window in MyStore(window: window) }.verify()
    }

    private typealias MyLetters = InMemoryDeadLetterStore

    @Test("my store meets the guarantees of a dead-letter store")
    func letters() async {
        await DeadLetterStoreContract { capacity, bytes in MyLetters(capacity: capacity, bytes: bytes) }.verify()
    }

    @Test("a service runs until its transports have no more, and reports what is left")
    func service() async throws {
        struct Nothing: PushTransport {
            let name = "nothing"
            let abilities: TransportAbilities = []
            func run(_ intake: PushIntake) async {}
        }
        let (receiver, transport) = (PushReceiver(), Nothing())
        let service = PushService(receiver, [transport])
        let report = try await service.run()
        #expect(report == DrainReport())
    }

    private struct QuietHours: Middleware {
        func admit(_ message: inout RoutedMessage) -> Verdict { .refuse("quiet hours") }
    }
}
