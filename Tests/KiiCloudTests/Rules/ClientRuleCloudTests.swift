import KiiCloud
import KiiCloudTesting
import KiiPush
import KiiPushAgent
import KiiPushRules
import KiiPushTesting
import Synchronization
import Testing

@Suite("what rules do to the cloud over a client")
struct ClientRuleCloudTests {
    private let cloud = TestCloud()
    private let receiver = PushReceiver(app: "0123abcd", me: [.thing(id: "th.1")])
    private let thing = KiiThing(id: "th.1")
    private var client: KiiClient {
        let tokens = FixedToken(cloud.logIn(.thing(thing)))
        return KiiClient(cloud.app, transport: cloud, tokens: tokens, clock: NotedClock())
    }
    private var state: KiiObject { KiiObject(bucket: KiiBucket(scope: .thing(thing), name: "state"), id: "heating") }

    private func load(_ then: String, when: String = "{}", _ client: KiiClient? = nil) throws {
        let rules = try RoutingRules(
            #"{"version":1,"me":["thing:th.1"],"rules":[{"id":"r","when":\#(when),"then":\#(then)}]}"#)
        let client = client ?? self.client
        try receiver.load(rules, actions: ProgramActions(cloud: ClientRuleCloud(client)))
    }

    private func receive(_ number: Int64, temp: Int64 = 21) async -> String {
        var fixture = PayloadFixture.pushToUser(topic: "news", scope: .app, sentAt: number)
        fixture.data = [("temp", .number("\(temp)"))]
        return "\(await receiver.receive(fixture.payload(.long)))"
    }

    private static let write =
        #"{"write":{"object":"kiicloud://things/th.1/buckets/state/objects/heating","fields":{"target":"${data.temp}"}}}"#

    @Test("a write makes the object, changes it, and is not sent where it changes nothing")
    func writes() async throws {
        try load(Self.write)
        #expect(await receive(1) == "handled")
        #expect(cloud.fields(of: state)?["target"] == 21 && cloud.version(of: state) == 1)
        #expect(cloud.fields(of: state)?[Lineage.key]?.string?.hasPrefix("1;1;") == true, "it is stamped")
        #expect(await receive(2) == "handled" && cloud.version(of: state) == 1)
        #expect(await receive(3, temp: 22) == "handled" && cloud.version(of: state) == 2)
        #expect(cloud.requests.last?[header: "If-Match"] == "1" && cloud.violations == [])
    }

    @Test("where the fields are replaced the others are gone")
    func replaces() async throws {
        try await client.write(state, .create(["target": 21, "old": true]))
        try load(Self.write.replacing("}}}", with: #"},"replace":true}}"#))
        #expect(await receive(1) == "handled")
        #expect(cloud.fields(of: state)?["old"] == nil && cloud.version(of: state) == 2)
        #expect(await receive(2) == "handled" && cloud.version(of: state) == 2)
    }

    @Test("where somebody else writes meanwhile it reads again; where that goes on the message fails")
    func overtaken() async throws {
        try await client.write(state, .create(["target": 1]))
        let transport = Overtaking(cloud, state)
        let tokens = FixedToken(cloud.logIn(.thing(thing)))
        try load(Self.write, KiiClient(cloud.app, transport: transport, tokens: tokens, clock: NotedClock()))
        transport.times = 2
        #expect(await receive(1) == "handled" && cloud.fields(of: state)?["target"] == 21)
        transport.times = 100
        #expect(await receive(2, temp: 22) == "failed (r)")
        // Once before each write, and once behind each that was refused: it might have been its own.
        #expect(cloud.requests.count { $0.method == .get } == 5 + 2 * ClientRuleCloud.mostRounds)
    }

    @Test("its own event is dropped, and a rule that writes the bucket it listens to ends")
    func ownEvent() async throws {
        try load(
            #"{"write":{"object":"kiicloud://things/th.1/buckets/state/objects/${object}","fields":{"seen":true}}}"#,
            when: #"{"bucket":"state","object":"*"}"#)
        let phone = client
        try await phone.write(state, .create(["target": 1]))
        try await phone.perform(.subscribe(.thing(thing), to: .bucket(state.bucket)))
        try await phone.write(state, .patch(["target": 2]))
        var outcomes: [String] = []
        for _ in 0..<5 {
            for push in cloud.takePushes(for: .thing(thing)) { outcomes.append("\(await receiver.receive(push))") }
        }
        // The phone's own change names this thing as its sender too: only identity tells of that.
        #expect(outcomes == ["looped (identity)"])
        try await KiiClient(cloud.app, transport: cloud, tokens: FixedToken(cloud.logIn(.user(id: "u-1"))))
            .write(state, .patch(["target": 3]))
        outcomes = []
        for _ in 0..<5 {
            for push in cloud.takePushes(for: .thing(thing)) { outcomes.append("\(await receiver.receive(push))") }
        }
        #expect(outcomes.first == "handled" && outcomes.count == 2 && outcomes.last?.hasPrefix("looped") == true)
        #expect(cloud.fields(of: state)?["seen"] == true)
    }

    @Test("a push is sent with the stamp and the values")
    func sends() async throws {
        let topic = KiiTopic(scope: .thing(thing), name: "alerts")
        let other = client
        try await other.perform(.createTopic(topic))
        try await other.perform(.subscribe(.user(KiiUser(id: "u-1")), to: .topic(topic)))
        let data = #"{"text":"${data.temp} °C","n":"${data.temp}"}"#
        try load(#"{"send":{"topic":"kiicloud://things/th.1/topics/alerts","data":\#(data)}}"#)
        #expect(await receive(1) == "handled")
        let pushes = try cloud.takePushes(for: .user(KiiUser(id: "u-1"))).map { try PushMessage($0) }
        #expect(pushes.count == 1 && pushes.first?.data["text"] == "21 °C" && pushes.first?.data["n"] == 21)
        #expect(pushes.first?.lineage?.hops == 1 && pushes.first?.sender == .thing(thing))
    }

    @Test(
        "what cannot be done fails with its reason, for logs and dead letters too, and quotes no value",
        arguments: [
            (#"{"send":{"topic":"kiicloud://things/th.1/topics/${data.temp}.","data":{}}}"#, "impossibleName"),
            (#"{"send":{"topic":"kiicloud://things/th.1/topics/${data.temp}","data":{}}}"#, "TOPIC_NOT_FOUND"),
            (#"{"write":{"object":"kiicloud://other/buckets/b/objects/o","fields":{"n":1}}}"#, "another app"),
            (#"{"write":{"object":"kiicloud://buckets/b/objects/o","fields":{"n":"${data.room}"}}}"#, "no data.room"),
        ])
    func fails(then: String, reason: String) async throws {
        let errors = Mutex<[(error: String, stages: String)]>([])
        receiver.onTrace { trace in
            guard case .failed(let failure) = trace.outcome else { return }
            errors.withLock { $0.append(("\(failure)", "\(trace.stages.map { "\($0.verdict)" })")) }
        }
        try load(then)
        #expect(await receive(1) == "failed (r)")
        let found = try #require(errors.withLock { $0.first })
        for text in [found.error, found.stages] { #expect(text.contains(reason) && !text.contains("21"), "\(text)") }
    }
}

/// Has somebody else write before each write, as often as it is told.
private final class Overtaking: HTTPTransport, @unchecked Sendable {  // one test's task has it alone
    private let cloud: TestCloud
    private let object: KiiObject
    var times = 0

    init(_ cloud: TestCloud, _ object: KiiObject) { (self.cloud, self.object) = (cloud, object) }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        if request.method != .get, times > 0 {
            times -= 1
            let other = KiiClient(cloud.app, transport: cloud, tokens: FixedToken(cloud.logIn(.user(id: "u-9"))))
            try await other.write(object, .patch(["other": .integer(times)]))
        }
        return try await cloud.send(request)
    }
}
