import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// What each way to register a handler takes, and what it gives.
struct HandlersTests {
    let log = EventLog()
    let receiver = PushReceiver(app: "0123abcd") {}
    static let scope = KiiScope.user(KiiUser(id: "U-1"))

    @discardableResult
    private func send(_ fixture: PayloadFixture, _ style: PayloadFixture.KeyStyle = .long) async -> Outcome {
        await receiver.receive(fixture.payload(style))
    }

    // MARK: What a match has proved

    @Test("a route that asks for a bucket gives one that is not optional", arguments: PayloadFixture.KeyStyle.allCases)
    func bucketEvent(style: PayloadFixture.KeyStyle) async {
        receiver.onPushToApp(bucket: "settings") { [log] event, _ in
            let bucket: KiiBucket = event.bucket
            let scope: KiiScope = event.scope
            log.add("\(bucket.uri) \(scope.id ?? "") \(event.type?.name ?? "") \(event.object?.id ?? "none")")
        }
        await send(.pushToApp(scope: Self.scope), style)
        await send(.pushToApp(object: nil, event: .bucketDeleted), style)
        #expect(
            log.events == [
                "kiicloud://users/U-1/buckets/settings U-1 DATA_OBJECT_UPDATED o-1",
                "kiicloud://buckets/settings  BUCKET_DELETED none",
            ])
    }

    @Test("a route that asks for an object gives one that is not optional, with its bucket and scope")
    func objectEvent() async {
        receiver.onPushToApp(object: "*") { [log] event, _ in
            let object: KiiObject = event.object
            let bucket: KiiBucket = event.bucket
            let scope: KiiScope = event.scope
            let (type, sender) = (event.type?.name ?? "", event.sender?.id ?? "")
            log.add("\(type) \(object.uri) \(bucket.name) \(scope.typeName) \(sender)")
        }
        await send(.pushToApp(scope: Self.scope, sender: "U-9"))
        #expect(await "\(send(.pushToApp(object: nil)))" == "unrouted (noRoute)")
        let uri = "kiicloud://users/U-1/buckets/settings/objects/o-1"
        #expect(log.events == ["DATA_OBJECT_UPDATED \(uri) settings APP_AND_USER U-9"])
    }

    @Test("a route that asks for a topic gives one that is not optional, with its scope and the data")
    func topicMessage() async {
        receiver.onPushToUser(topic: ["news", "room-*"]) { [log] message, _ in
            let topic: KiiTopic = message.topic
            let scope: KiiScope = message.scope
            log.add("\(topic.uri) \(scope.typeName) \(message.sender?.id ?? "") \(message.data["text"]?.string ?? "")")
        }
        await send(.pushToUser(topic: "room-1", scope: Self.scope))
        #expect(await "\(send(.pushToUser(topic: "other")))" == "unrouted (noRoute)")
        #expect(log.events == ["kiicloud://users/U-1/topics/room-1 APP_AND_USER U-sender hello"])
    }

    @Test("a route for a kind takes it without handles too, and then has none")
    func withoutHandles() async {
        receiver.onPushToApp { [log] message, _ in
            log.add("app \(message.bucket == nil) \(message.object == nil) \(message.type == .objectUpdated)")
        }
        receiver.onPushToUser { [log] message, _ in log.add("user \(message.topic == nil) \(message.data.keys)") }
        for var fixture in [PayloadFixture.pushToApp(), .pushToUser()] {
            await send(fixture)
            fixture.fields[.scopeType] = nil
            await send(fixture)
        }
        #expect(
            log.events == [
                "app false false true", "app true true true", #"user false ["text"]"#, #"user true ["text"]"#,
            ])
    }

    @Test("a Direct Push gives its data, and the administrator where MQTT says it")
    func directPush() async {
        receiver.onDirectPush { [log] message, _ in
            log.add("\(message.sender?.typeName ?? "nobody") \(message.data["text"]?.string ?? "")")
        }
        await send(.directPush())
        await send(.directPush(), .short)
        #expect(log.events == ["admin hello", "nobody hello"])
    }

    @Test("a message to a topic that leaves the topic out, but not its scope, reaches handlers of users' pushes only")
    func topicLeftOut() async {
        receiver.onPushToUser(id: "user") { [log] message, _ in
            log.add("user \(message.topic == nil) \(message.sender?.id ?? "nobody")")
        }
        receiver.onDirectPush(id: "direct") { [log] message, _ in log.add("direct \(message.sender?.id ?? "nobody")") }
        for style in PayloadFixture.KeyStyle.allCases {
            var fixture = PayloadFixture.pushToUser(scope: .group(KiiGroup(id: "G1")), sender: "U-2")
            fixture.fields[.topic] = nil
            #expect(await "\(send(fixture, style))" == "handled")
            #expect(log.events.last == "user true U-2")
            // Without its scope nothing tells it from a Direct Push; its sender is known all the same.
            for field in [KiiField.scopeType, .scopeAppID, .scopeGroupID] { fixture.fields[field] = nil }
            #expect(await "\(send(fixture, style))" == "handled")
        }
        #expect(log.events.filter { $0.hasPrefix("direct") } == ["direct U-2", "direct U-2", "direct U-2"])
    }

    // MARK: Conditions

    @Test("every condition of a registration reaches its route")
    func conditions() async {
        let (group, user) = (KiiScope.group(KiiGroup(id: "G")), KiiScope.user(KiiUser(id: "U")))
        receiver.onPushToApp(
            id: "object", bucket: "set*", object: "o-*", scope: .user("U-1"), events: [.objectUpdated],
            sender: .user("U-s*")
        ) { _, _ in }
        receiver.onPushToApp(id: "app", scope: .group("G"), events: ["E"], sender: .thing()) { _, _ in }
        receiver.onPushToApp(id: "bucket", bucket: "b", scope: .app, events: ["E"], sender: .user("S")) { _, _ in }
        receiver.onPushToUser(id: "user", scope: .group("G"), sender: .thing()) { _, _ in }
        receiver.onPushToUser(id: "topic", topic: "t", scope: .app, sender: .user("S")) { _, _ in }
        receiver.onDirectPush(id: "direct", sender: .admin("APP_*")) { _, _ in }
        receiver.onAny(id: "any", scope: .user("U"), sender: .user("S")) { _, _ in }
        let table: [(PayloadFixture, route: String?)] = [
            (.pushToApp(scope: Self.scope), "object"), (.pushToApp(bucket: "other", scope: Self.scope), nil),
            (.pushToApp(object: "p-1", scope: Self.scope), nil), (.pushToApp(), nil),
            (.pushToApp(event: .objectCreated, scope: Self.scope), nil),
            (.pushToApp(scope: Self.scope, sender: "U-9"), nil), (.pushToApp(scope: Self.scope, sender: nil), nil),
            (.pushToApp(event: "E", scope: group, sender: "th.1"), "app"),
            (.pushToApp(event: "F", scope: group, sender: "th.1"), nil),
            (.pushToApp(event: "E", scope: group, sender: "S"), nil),
            (.pushToApp(event: "E", scope: .app, sender: "th.1"), nil),
            (.pushToApp(bucket: "b", event: "E", sender: "S"), "bucket"),
            (.pushToApp(bucket: "c", event: "E", sender: "S"), nil),
            (.pushToApp(bucket: "b", event: "F", sender: "S"), nil),
            (.pushToApp(bucket: "b", event: "E", sender: "T"), nil),
            (.pushToUser(scope: group, sender: "th.1"), "user"), (.pushToUser(scope: group, sender: "S"), nil),
            (.pushToUser(topic: "t", sender: "S"), "topic"), (.pushToUser(topic: "u", sender: "S"), nil),
            (.pushToUser(topic: "t", sender: "T"), nil), (.pushToUser(topic: "t", scope: group, sender: "S"), nil),
            (.directPush(), "direct"), (.directPush(recipient: nil), nil),
            (.pushToApp(scope: user, sender: "S"), "any"), (.pushToUser(scope: user, sender: "S"), "any"),
            (.pushToUser(scope: user, sender: "T"), nil),
        ]
        for (fixture, route) in table {
            let outcome = await send(fixture)
            if case .handled(let routes) = outcome {
                #expect(routes.ids == [route], "\(fixture.fields)")
            } else {
                #expect(route == nil, "\(fixture.fields): \(outcome)")
            }
        }
    }

    @Test("conditions on the data reach the route of every registration, which takes its kind only")
    func data() async {
        let hot: [DataCondition] = [.data("temp", .greater(30))]
        receiver.onPushToApp(id: "app", data: hot, options: .continue) { [log] _, _ in log.add("app") }
        receiver.onPushToApp(id: "bucket", bucket: "settings", data: hot, options: .continue) { [log] _, _ in
            log.add("bucket")
        }
        receiver.onPushToApp(id: "object", object: "*", data: hot) { [log] _, _ in log.add("object") }
        receiver.onPushToUser(id: "user", data: hot, options: .continue) { [log] _, _ in log.add("user") }
        receiver.onPushToUser(id: "topic", topic: "news", data: hot) { [log] _, _ in log.add("topic") }
        receiver.onDirectPush(id: "direct", data: hot) { [log] _, _ in log.add("direct") }
        receiver.onAny(id: "any", data: [.data("temp", .less(30))]) { [log] _, _ in log.add("any") }
        for temperature in ["31", "29"] {
            let data = [(key: "temp", value: DataValue.number(temperature))]
            var event = PayloadFixture.pushToApp()
            event.data = data
            for fixture in [event, .pushToUser(data: data), .directPush(data: data)] { await send(fixture) }
        }
        #expect(log.events == ["app", "bucket", "object", "user", "topic", "direct", "any", "any", "any"])
    }

    @Test("only handlers that ask for ambiguous messages get them")
    func ambiguous() async {
        var imitation = PayloadFixture.pushToApp()
        imitation.fields[.topic] = "news"
        receiver.onPushToApp(id: "bucket", bucket: "*") { _, _ in }
        receiver.onAny(id: "any") { _, _ in }
        #expect(await "\(send(imitation))" == "unrouted (ambiguous)")
        receiver.onAny(id: "careful", certainty: [.ambiguous]) { [log] message, _ in log.add(message.certainty.rawValue)
        }
        #expect(await "\(send(imitation))" == "handled")
        #expect(log.events == ["ambiguous"])
        #expect(receiver.metrics.routes.map(\.handled) == [0, 0, 1])
    }

    // MARK: Context and ids

    @Test("a handler is told its route, the message's number and when the payload arrived, now at the latest")
    func context() async {
        let clock = ManualClock(start: .seconds(5))
        let receiver = PushReceiver(clock: clock) {}
        receiver.onAny(id: "mine") { [log] _, context in
            log.add("\(context.route) \(context.messageID) \(context.arrivedAt.nanoseconds)")
        }
        let payload = PayloadFixture.pushToApp().payload(.long)
        _ = await receiver.receive(payload)
        _ = await receiver.receive(payload.arrived(at: .seconds(3)))
        _ = await receiver.receive(payload.arrived(at: .seconds(1_700_000_000)))
        #expect(log.events == ["mine 1 5000000000", "mine 2 3000000000", "mine 3 5000000000"])
    }

    @Test("a route without an id gets one from its kind and place, never one that is taken")
    func madeUpIDs() {
        receiver.onPushToApp { _, _ in }
        receiver.onAny { _, _ in }
        receiver.onPushToUser(id: "any-4") { _, _ in }
        receiver.onAny { _, _ in }
        receiver.onDirectPush { _, _ in }
        #expect(receiver.metrics.routes.map(\.route) == ["pushToApp-1", "any-2", "any-4", "any-5", "directPush-5"])
    }

    @Test("two routes with one id trap at once")
    func repeatedID() async {
        await #expect(processExitsWith: .failure) {
            let receiver = PushReceiver()
            receiver.onAny(id: "a") { _, _ in }
            receiver.onAny(id: "a") { _, _ in }
        }
    }
}
