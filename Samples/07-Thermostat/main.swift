import KiiCloud
import KiiCloudTesting
import KiiPush

// A thermostat and its owner's phone, at a cloud for tests in this process. For Kii's own cloud, make the `KiiApp` of
// your app, take tokens of a real user and a real thing, and let an MQTT transport bring the payloads, as sample 06
// does.
let cloud = TestCloud()
let (app, transport) = try connect(to: cloud)
let (owner, thing) = (KiiUser(id: "u-1"), KiiThing(id: "th.1"))
let settings = thing.bucket("settings").object("heating")
let alerts = thing.topic("alerts")

func client(of sender: Sender) -> KiiClient {
    KiiClient(app, transport: transport, tokens: FixedToken(cloud.logIn(sender)), me: sender)
}
let (phone, thermostat) = (client(of: .user(owner)), client(of: .thing(thing)))

// MARK: The thermostat

let receiver = PushReceiver(app: app.id, me: [.thing(thing)])

receiver.onPushToApp("heating", bucket: "settings", object: "heating") { event, context in
    // The push says that the object changed, and not how.
    guard let record = try await context.refresh(event.object, with: thermostat) else { return }
    let target = record["target"]?.double ?? 20
    print("  the target is \(Int(target)) degrees")
    // Nothing is sent where the object says so already, and the write's own push calls no handler.
    let write = ObjectWrite.patch(["heating": .bool(target > 21)])
    guard try await context.write(record, write, with: thermostat) != nil else {
        return print("  there is nothing to write")
    }
    print("  wrote that the heating is \(target > 21 ? "on" : "off")")
    let message = OutgoingMessage(data: ["text": .string("the heating is \(target > 21 ? "on" : "off")")])
    try await context.send(message, to: alerts, with: thermostat)
}

// MARK: The phone

let phoneReceiver = PushReceiver(app: app.id, me: [.user(owner)])

phoneReceiver.onPushToUser(topic: "alerts") { message, context in
    print("  the phone shows: \(message.data["text"]?.string ?? "nothing")")
}

// MARK: A day

/// Brings all that the cloud pushes, until it has nothing more.
func deliver() async {
    while true {
        let (things, users) = (cloud.takePushes(for: .thing(thing)), cloud.takePushes(for: .user(owner)))
        if things.isEmpty, users.isEmpty { return }
        for payload in things { print("  thermostat: \(await receiver.receive(payload))") }
        for payload in users { print("  phone: \(await phoneReceiver.receive(payload))") }
    }
}

try await phone.write(settings, .create(["target": 20, "heating": false]))
try await thermostat.perform(.createTopic(alerts))
try await phone.perform(.subscribe(.user(owner), to: .topic(alerts)))
try await thermostat.perform(.subscribe(.thing(thing), to: .bucket(settings.bucket)))

for target in [23, 22, 18] {
    print("the phone asks for \(target) degrees")
    try await phone.write(settings, .patch(["target": .integer(target)]))
    await deliver()
}

print("what the cloud has:", cloud.fields(of: settings)?["heating"] == false ? "off" : "on")
print("writes:", cloud.version(of: settings), "and nothing that Kii does not document:", cloud.violations.isEmpty)
