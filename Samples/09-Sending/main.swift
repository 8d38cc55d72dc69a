// The messages of Kii's guide on sending, as a Linux program writes them, at a cloud for tests in this process. The
// guide uses KiiPushMessage and KiiAPNSFields; each function here is one of its listings.

import KiiCloud
import KiiCloudTesting
import KiiPush

let cloud = TestCloud()
let (alice, bob) = (KiiUser(id: "alice"), KiiUser(id: "bob"))
cloud.set(.group(KiiGroup(id: "G-1")), ["name": "Kitchen", "owner": "alice"])
let client = KiiClient(
    cloud.app, transport: cloud, tokens: FixedToken(cloud.logIn(.user(alice))), me: .user(alice))

// MARK: A group's topic, over APNs, FCM and MQTT

func tellGroup(uri: String) async throws {
    guard let group = KiiGroup(uri: uri), let record = try await client.refresh(group) else {
        return print("there is no group \(uri)")
    }
    // Silent: on Apple's devices it wakes the app, and shows nothing.
    var message = OutgoingMessage(data: ["str": "str", "int": 1, "bool": false, "double": 1.12])
    message.apns.contentAvailable = true
    try await send(
        message, to: group.topic("GroupTopic"), of: "the group \(record["name"]?.string ?? "without a name")")
}

// MARK: A user's topic, over APNs only

func remindMe() async throws {
    var message = OutgoingMessage()
    message.apns.data = ["item": "Do Something", "Done": 1]
    message.apns.contentAvailable = true
    message.fcm.isEnabled = false
    message.mqtt.isEnabled = false
    try await send(message, to: alice.topic("MyToDO"), of: "alice")
}

// MARK: A short message, and a long one without the keys that Kii adds

func showShort() async throws {
    try await send(alert("short msg only!"), to: alice.topic("MyTopic"), of: "alice")
}

func showLong() async throws {
    var message = alert("Looooooooooooooooooong Message!!")
    // Devices cannot tell the topic any more, so that it looks like a Direct Push.
    message.sends.subtract([.sender, .objectScope, .topicID, .when])
    try await send(message, to: alice.topic("MyTopic"), of: "alice")
}

/// A message that shows a text on Apple's devices.
func alert(_ text: String) -> OutgoingMessage {
    var message = OutgoingMessage()
    message.apns.alert = .init(body: text)
    message.fcm.isEnabled = false
    message.mqtt.isEnabled = false
    return message
}

// MARK: Sending

/// Sends a message, and prints what devices get over each network, and how many bytes are left there.
func send(_ message: OutgoingMessage, to topic: KiiTopic, of owner: String) async throws {
    print("\nto \(topic.name) of \(owner)")
    let address = PushAddress(app: client.app.id, topic: topic, sender: .user(alice), sentAt: 1_373_623_307_000)
    for network in message.networks {
        let left = message.budget(network, sentTo: address).left ?? 0
        print("  \(network.rawValue), \(left) bytes left: \(message.preview(network, sentTo: address).text)")
    }
    for problem in message.problems(sentTo: address) { print("  \(problem)") }
    try await client.send(message, to: topic)
}

let topics = [KiiGroup(id: "G-1").topic("GroupTopic"), alice.topic("MyToDO"), alice.topic("MyTopic")]
for topic in topics {
    try await client.perform(.createTopic(topic))
    try await client.perform(.subscribe(.user(bob), to: .topic(topic)))
}
try await tellGroup(uri: "kiicloud://groups/G-1")
try await tellGroup(uri: "kiicloud://groups/G-2")
try await remindMe()
try await showShort()
try await showLong()

// Only the first message goes to devices on MQTT, such as Bob's.
let receiver = PushReceiver(app: client.app.id)
receiver.onPushToUser(topic: "GroupTopic") { message, context in
    let sender = message.sender?.id ?? "nobody"
    let data = message.data.members.map { "\($0.key) = \($0.value.string ?? "")" }.joined(separator: ", ")
    print("  \(sender) sent \(data)")
}
print("\nwhat Bob's device on MQTT gets")
for payload in cloud.takePushes(for: .user(bob)) { print("  -> \(await receiver.receive(payload))") }

showQuickBlox()
