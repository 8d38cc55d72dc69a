import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// Routes whose messages are named by an id in their data.
struct RouteDedupeTests {
    private let clock = ManualClock()
    private let log = EventLog()

    private func receiver(_ body: (PushReceiver) -> Void) -> PushReceiver {
        let receiver = PushReceiver(app: "0123abcd", clock: clock)
        body(receiver)
        return receiver
    }

    private func order(
        _ id: DataValue?, topic: String = "orders", scope: KiiScope = .app, sender: String? = "U-1", sentAt: Int64? = 1,
        text: String = "x", app: String = "0123abcd"
    ) -> PayloadFixture {
        let id = id.map { [(key: "orderID", value: $0)] } ?? []
        return .pushToUser(
            topic: topic, scope: scope, sender: sender, sentAt: sentAt, data: id + [("text", .string(text))], app: app)
    }

    private func keys(_ fixture: PayloadFixture, _ route: Route, style: PayloadFixture.KeyStyle = .long) throws
        -> DedupeKeys?
    {
        let message = try PushMessage(fixture.payload(style))
        let place = ResourceDigest(of: message.storage, .published)
        return message.dedupeKeys(of: route, "0123abcd", .published, at: place)
    }

    private func route(_ id: String = "r", _ key: String = "orderID") -> Route {
        let options = RouteOptions(dedupe: .by(data: key))
        return Route(id: id, criteria: RouteCriteria(), options: options, handler: .any { _, _ in })
    }

    @Test("a route's id alone decides which messages are duplicates")
    func byID() async {
        let receiver = receiver { receiver in
            receiver.onPushToUser(topic: "orders", options: RouteOptions(dedupe: .by(data: "orderID"))) { order, _ in
                print(order.topic.name)
            }
        }
        let cases: [(PayloadFixture, PayloadFixture.KeyStyle, String)] = [
            (order(.string("17")), .long, "handled"),
            (order(.string("17"), sentAt: 2, text: "y"), .long, "duplicate (done)"),
            (order(.number("17"), sentAt: nil), .strings, "duplicate (done)"),
            (order(.number("17"), sentAt: 3), .short, "duplicate (done)"), (order(.string("18")), .long, "handled"),
            (order(.string("18"), sentAt: nil), .long, "duplicate (done)"),
        ]
        for (fixture, style, expected) in cases {
            #expect(await "\(receiver.receive(fixture.payload(style)))" == expected)
        }
        clock.advance(by: .seconds(599))
        #expect(await "\(receiver.receive(order(.string("18"), sentAt: 9).payload(.long)))" == "duplicate (done)")
        clock.advance(by: .seconds(2))
        #expect(await "\(receiver.receive(order(.string("18"), sentAt: 9).payload(.long)))" == "handled")
    }

    @Test("pushes that differ only by id are both handled, over any transport", arguments: ["directPush", "any"])
    func equalButForID(kind: String) async {
        let receiver = receiver { receiver in
            if kind == "any" {
                receiver.onAny(options: RouteOptions(dedupe: .by(data: "n"))) { _, _ in }
            } else {
                receiver.onDirectPush(options: RouteOptions(dedupe: .by(data: "n"))) { _, _ in }
            }
        }
        for number in ["1", "2", "1", "2"] {
            let push = PayloadFixture.directPush(data: [("n", .string(number)), ("text", .string("x"))])
            // The weak window of the digest is long over; the id is strong.
            clock.advance(by: .seconds(60))
            let outcome = await "\(receiver.receive(push.payload(.long)))"
            #expect(outcome == (clock.now <= .seconds(120) ? "handled" : "duplicate (done)"))
        }
    }

    @Test("messages without an id, and ambiguous ones, use automatic keys")
    func automatic() async throws {
        for value in [nil, .null, .bool(true), .string(""), .array([.string("17")]), .object([])] as [DataValue?] {
            #expect(try keys(order(value), route()) == nil, "\(String(describing: value))")
        }
        let ambiguous = try PushMessage(
            RawPayload(#"{"topic":"orders","bucketID":"b","orderID":"17","objectScopeType":"APP"}"#))
        #expect(ambiguous.certainty == .ambiguous)
        #expect(ambiguous.dedupeKeys(of: route(), nil, .published, at: nil) == nil)
        #expect(RouteDedupe.by(data: "orderID").id(of: ambiguous) == nil)
        let plain = try PushMessage(order(.number("17")).payload(.long))
        #expect(RouteDedupe.by(data: "orderID").id(of: plain) == "17")
        #expect(plain.dedupeKeys(of: Route("r"), nil, .published, at: nil) == nil)

        let receiver = receiver { $0.onPushToUser(options: RouteOptions(dedupe: .by(data: "orderID"))) { _, _ in } }
        for (sentAt, expected) in [(Int64(1), "handled"), (2, "handled"), (1, "duplicate (done)")] {
            #expect(await "\(receiver.receive(order(nil, sentAt: sentAt).payload(.long)))" == expected)
        }
    }

    @Test(
        "equal ids of another app, kind, scope, topic, sender, route or field do not collide")
    func apart() throws {
        let user = KiiScope.user(KiiUser(id: "U-1"))
        let id = DataValue.string("17")
        var bucket = PayloadFixture.pushToApp(bucket: "orders", sender: "U-1")
        var direct = PayloadFixture.directPush(recipient: nil)
        var ofAdmin = PayloadFixture.directPush()
        var nameless = PayloadFixture.directPush(recipient: nil)
        nameless.fields[.senderURI] = "kiicloud://users/APP_ADMIN"
        bucket.data = [("orderID", id)]
        direct.data = [("orderID", id)]
        ofAdmin.data = [("orderID", id)]
        nameless.data = [("orderID", id)]
        var found: [DedupeKey: String] = [:]
        for (name, fixture) in [
            ("plain", order(id)), ("app", order(id, app: "ffff0000")), ("user", order(id, scope: user)),
            ("group", order(id, scope: .group(KiiGroup(id: "U-1")))), ("topic", order(id, topic: "news")),
            ("sender", order(id, sender: "U-2")), ("no sender", order(id, sender: nil)), ("bucket", bucket),
            ("direct", direct), ("of an admin", ofAdmin), ("of a user with its name", nameless),
            ("other id", order(.string("170"))),
        ] {
            let keys = try #require(try keys(fixture, route()))
            #expect(keys.strength == .strong && keys.secondary == nil)
            #expect(found[keys.primary] == nil, "\(name) and \(found[keys.primary] ?? "")")
            found[keys.primary] = name
            #expect(try keys.primary != PushMessage(fixture.payload(.long)).dedupeKeys(secret: .published).primary)
        }
        let plain = try #require(try keys(order(id), route()))
        #expect(try keys(order(id), route("other")) != plain)
        #expect(try keys(order(id, text: "17"), route("r", "text")) != plain)
        #expect(try keys(order(id, sentAt: 2, text: "y"), route()) == plain)
        #expect(try keys(order(id), route(), style: .short) == plain)
        var withoutApp = order(id)
        withoutApp.fields[.scopeAppID] = nil
        #expect(try keys(withoutApp, route()) == plain, "an app that is left out is the receiver's")
    }

    @Test("the first matching route provides the id")
    func firstRoute() async {
        let log = log
        let receiver = receiver { receiver in
            receiver.onPushToUser(id: "all", options: .continue) { _, _ in }
            receiver.onPushToUser(id: "orders", options: RouteOptions(dedupe: .by(data: "orderID"))) { _, _ in
                log.add("orders")
            }
        }
        for sentAt in [Int64(1), 2] { _ = await receiver.receive(order(.string("17"), sentAt: sentAt).payload(.long)) }
        #expect(log.events.count == 2)
    }
}
