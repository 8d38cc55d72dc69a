import KiiCloud
import KiiCloudTesting
import KiiPush
import KiiPushTesting
import Testing

/// The code of the guides, so that it compiles and does what they say.
@Suite("Documented calls")
struct DocumentedCloudTests {
    private let topic = KiiTopic(scope: .user(KiiUser(id: "u-1")), name: "doors")

    @Test("the guide's push is composed, checked, made smaller and previewed")
    func sending() throws {
        var message = OutgoingMessage(data: ["text": "The door is open", "since": 1_373_623_307])
        message.apns.alert = .init(title: "Home", body: "The door is open")
        message.mqtt.isEnabled = false

        let address = PushAddress(app: "0123abcd", topic: topic, sender: .user(id: "u-1"), sentAt: 1_373_623_307_000)
        for problem in message.problems(sentTo: address) where !problem.isWarning {
            print(problem.path, problem.code, problem.message)
        }
        #expect(message.problems(sentTo: address).isEmpty)

        let budget = message.budget(.apns, sentTo: address)
        if budget.used > budget.limit ?? .max { message.sends.remove(.objectScope) }
        #expect(message.sends.contains(.objectScope))

        let received = try PushMessage(message.preview(.apns, sentTo: address).payload)
        #expect(received.topic == topic && received.data["text"]?.string == "The door is open")
    }

    @Test("the guide's client sends the push to a topic of its user's")
    func sendingToTopic() async throws {
        let (app, token, user, transport) = (Cloud.app, Secret("token-1"), Cloud.user, TestCloud.withUser())
        let seed = KiiClient(app, transport: transport, tokens: FixedToken(token))
        try await seed.perform(.createTopic(user.topic("doors")))
        let message = OutgoingMessage(data: ["text": "The door is open"])
        let client = KiiClient(app, transport: transport, tokens: FixedToken(token), me: .user(user))
        try await client.send(message, to: user.topic("doors"))
        let path = transport.requests.last?.path
        #expect(path?.hasSuffix("/users/\(user.id)/topics/doors/push/messages") == true)
    }

    @Test("the guide's client reads an object and changes it")
    func calling() async throws {
        let (app, token, object, transport) = (Cloud.app, Secret("token-1"), Cloud.object, TestCloud.withUser())
        let seed = KiiClient(app, transport: transport, tokens: FixedToken(token))
        try await seed.write(object, .create(["temp": 21]))

        let client = KiiClient(app, transport: transport, tokens: FixedToken(token))
        if let record = try await client.perform(.readObject(object)) {
            try await client.write(object, .patch(["temp": 22], ifMatch: record.version))
        }
        #expect(try await client.perform(.readObject(object))?["temp"] == 22)
    }

    @Test("the guide's handler reads, goes on with the lineage, and writes")
    func handler() async throws {
        let object = KiiObject(bucket: .init(scope: .app, name: "settings"), id: "o-1")
        let transport = TestCloud.withUser()
        let client = KiiClient(Cloud.app, transport: transport, tokens: FixedToken(Secret("token-1")))
        try await client.write(object, .create(["seen": false]))
        let receiver = PushReceiver(app: "0123abcd")
        receiver.onPushToApp(bucket: "settings", object: "*") { event, context in
            guard let record = try await context.refresh(event.object, with: client) else { return }
            try await context.write(record, .patch(["seen": true]), with: client)
        }
        #expect(await receiver.receive(PayloadFixture.pushToApp().payload(.long)).name == "handled")
        #expect(try await client.perform(.readObject(object))?["seen"] == true)
    }
}
