import KiiCloud
import KiiPush

/// What the tests send, and where to.
enum Samples {
    /// The address of the payload that Kii's guide on sending shows.
    static let documented = PushAddress(
        app: "9a2385ce",
        topic: KiiTopic(scope: .user(KiiUser(id: "e26ad504-8100-4056-b3d3-xxxxxxxxxxxx")), name: "MyTopic"),
        sender: .user(id: "cf6de5b5-8927-48a4-a410-xxxxxxxxxxxx"), sentAt: 1_373_623_307_000)

    /// An address of the developer's, who may send to any topic.
    static func address(_ scope: KiiScope, sender: Sender = PushAddress.developer) -> PushAddress {
        PushAddress(
            app: "5ab07c11", topic: KiiTopic(scope: scope, name: "doors"), sender: sender,
            sentAt: 1_700_000_000_123)
    }

    static let scopes: [KiiScope] = [
        .app, .user(KiiUser(id: "u-77")), .group(KiiGroup(id: "g-5")), .thing(KiiThing(id: "th.9a-1")),
    ]

    /// Every set of the four switches that are on by default.
    static let suppressions: [Set<SendSwitch>] = (0..<16).map { bits in
        let keys: [SendSwitch] = [.sender, .objectScope, .topicID, .when]
        return Set(keys.indices.filter { bits & 1 << $0 != 0 }.map { keys[$0] })
    }

    /// A message that shows a text on APNs devices only.
    static func alert(_ body: String) -> OutgoingMessage {
        var message = OutgoingMessage()
        message.apns.alert = .init(body: body)
        message.fcm.isEnabled = false
        message.mqtt.isEnabled = false
        return message
    }

    static func value(_ text: String) throws -> DataValue { try PushMessage(RawPayload(text)).rawObject }
}
