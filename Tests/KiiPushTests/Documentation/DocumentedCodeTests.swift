import KiiPush
import KiiPushContracts
import KiiPushTesting
import Testing

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
                ScopeRouter(serving: [.app, .thing("th.1")])
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
        let message = try PushMessage(RawPayload(#"{"temp":"31","mode":"auto-2"}"#))
        #expect(hot.allSatisfy { $0.holds(for: message) })
    }

    private typealias MyStore = InMemorySeenStore

    @Test("my store keeps the promises of a seen store")
    func contract() async {
        await SeenStoreContract { window in MyStore(window: window) }.verify()
    }

    private struct QuietHours: Middleware {
        func admit(_ message: inout RoutedMessage) -> Verdict { .refuse("quiet hours") }
    }
}
