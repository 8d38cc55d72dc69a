// The reception handler of Kii's iOS guide for Push to App, as a Linux agent writes it. There, one function gets every
// push and asks it what it contains; here, each handler states what it needs, and gets that, not optional.

import KiiCloud
import KiiCloudTesting
import KiiPush
import KiiPushTesting

// A push names users, groups, things and objects without their contents: a client reads these, here at a cloud for
// tests in this process.
let cloud = TestCloud()
cloud.set(.user(KiiUser(id: "U-sender")), ["displayName": "Alice"])
cloud.set(.user(KiiUser(id: "U-1")), ["displayName": "Bob"])
cloud.set(.group(KiiGroup(id: "G-1")), ["name": "Kitchen"])
cloud.set(.thing(KiiThing(id: "th.1")), ["_thingType": "oven"])
let client = KiiClient(cloud.app, transport: cloud, tokens: FixedToken(cloud.logIn(.user(id: "U-1"))))
let receiver = PushReceiver(app: cloud.app.id)

// Get the changed object and its bucket. There is a bucket and an object in every message that comes here.
receiver.onPushToApp(id: "objects", object: "*", options: .continue) { event, context in
    print("object \(event.object.id), bucket \(event.bucket.name), event \(event.type?.name ?? "none")")
    print("  fetch it from \(event.object.uri)")
}

// Get the sender, refresh it, and access it: a user, a thing, or no information, as over APNs.
receiver.onPushToApp(id: "senders", options: .continue) { event, context in
    switch event.sender {
    case .user(let user):
        let record = try await context.refresh(user, with: client)
        print("  caused by user \(user.id): \(record?["displayName"]?.string ?? "who is gone")")
    case .thing(let thing):
        let record = try await context.refresh(thing, with: client)
        print("  caused by thing \(thing.id): \(record?["_thingType"]?.string ?? "which is gone")")
    case .admin, nil: print("  the message has no sender information")
    }
}

// Determine the scope, and refresh its owner. A route can ask for a scope, or the handler can look.
receiver.onPushToApp(id: "groups", bucket: "*", scope: .group("*")) { event, context in
    guard let group = event.message.scopeGroup else { return }
    let record = try await context.refresh(group, with: client)
    print("  a group's bucket: \(group.id), \(record?["name"]?.string ?? "which is gone")")
}
receiver.onPushToApp(id: "rest", bucket: "*") { event, context in
    switch event.scope {
    case .app: print("  the app's own bucket")
    case .user(let user):
        let record = try await context.refresh(user, with: client)
        print("  a user's bucket: \(user.id), \(record?["displayName"]?.string ?? "who is gone")")
    case .thing(let thing):
        let record = try await context.refresh(thing, with: client)
        print("  a thing's bucket: \(thing.id), \(record?["_thingType"]?.string ?? "which is gone")")
    case .group: print("  never here: the route before takes groups")
    }
}

// A Push to App that lacks its scope is one all the same; it only has no bucket to speak of. Any field has its name.
receiver.onPushToApp(id: "no scope") { event, context in
    let message = event.message
    print("something changed, but not said where: bucket \(message[.bucketID] ?? "none")")
    print("  scope \(message[.scopeType] ?? "none"), event \(message[.type] ?? "none")")
}

// Push to User: what was sent is the sender's own data, read by key or decoded as a whole.
struct Note: Decodable {
    var text: String
    var priority: Int?
}
receiver.onPushToUser(id: "notes", topic: "news") { message, context in
    let note = try message.data.decode(Note.self)
    print("topic \(message.topic.name) of \(message.scope.typeName): \(note.text), priority \(note.priority ?? 0)")
}

// Direct Push: whatever was sent, by an administrator or by somebody whose push looks the same.
receiver.onDirectPush(id: "direct") { message, context in
    let sender = message.sender?.description ?? "unknown"
    print("direct, sender \(sender): \(message.data.keys)")
}

// One payload of each kind and scope, as MQTT brings them; then what APNs leaves out, and a bucket without a scope.
for (_, kind, scope, style, payload) in PayloadFixture.matrix where style == .long {
    print("\n\(kind), \(scope?.typeName ?? "no scope")")
    print("  -> \(await receiver.receive(payload))")
}
print("\nPush to App over APNs")
let apns = PayloadFixture.pushToApp(scope: .thing(KiiThing(id: "th.1")), sentAt: 1_700_000_001_000)
print("  -> \(await receiver.receive(apns.payload(.short)))")

print("\na Direct Push as MQTT brings it, with its sender")
print("  -> \(await receiver.receive(PayloadFixture.directPush().payload(.long)))")

// Kii states a scope with buckets and topics only, so this payload contradicts itself.
print("\na Direct Push with a scope")
var imitation = PayloadFixture.directPush()
imitation.fields[.scopeType] = "APP_AND_GROUP"
imitation.fields[.scopeGroupID] = "G-1"
print("  -> \(await receiver.receive(imitation.payload(.long)))")

print("\na bucket without a scope")
var bare = PayloadFixture()
bare.fields[.bucketID] = "settings"
print("  -> \(await receiver.receive(bare.payload(.long)))")
