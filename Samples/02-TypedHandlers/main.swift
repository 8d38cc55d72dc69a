// The reception handler of Kii's iOS guide for Push to App, as a Linux agent writes it. There, one function gets every
// push and asks it what it contains; here, each handler states what it needs, and gets that, not optional.

import KiiPush
import KiiPushTesting

let receiver = PushReceiver(app: "0123abcd")

// Get the changed object and its bucket. There is a bucket and an object in every message that comes here.
receiver.onPushToApp("objects", object: "*", options: .continue) { event, context in
    print("object \(event.object.id), bucket \(event.bucket.name), event \(event.type?.name ?? "none")")
    print("  fetch it from \(event.object.uri)")
}

// Get the sender: a user, a thing, or no information, as always over APNs.
receiver.onPushToApp("senders", options: .continue) { event, context in
    switch event.sender {
    case .user(let user): print("  caused by user \(user.id)")
    case .thing(let thing): print("  caused by thing \(thing.id)")
    case .admin, nil: print("  the message has no sender information")
    }
}

// Determine the scope. A route can ask for it, or the handler can look.
receiver.onPushToApp("groups", bucket: "*", scope: .group("*")) { event, context in
    print("  a group's bucket: \(event.scope.id ?? "")")
}
receiver.onPushToApp("rest", bucket: "*") { event, context in
    switch event.scope {
    case .app: print("  the app's own bucket")
    case .user(let user): print("  a user's bucket: \(user.id)")
    case .thing(let thing): print("  a thing's bucket: \(thing.id)")
    case .group: print("  never here: the route before takes groups")
    }
}

// A Push to App that lacks its scope is one all the same; it only has no bucket to speak of.
receiver.onPushToApp("no scope") { event, context in
    print("something changed, but not said where: \(event.message[.bucketID] ?? "no bucket")")
}

// Push to User: what was sent is the sender's own data, read by key or decoded as a whole.
struct Note: Decodable {
    var text: String
    var priority: Int?
}
receiver.onPushToUser("notes", topic: "news") { message, context in
    let note = try message.data.decode(Note.self)
    print("topic \(message.topic.name) of \(message.scope.typeName): \(note.text), priority \(note.priority ?? 0)")
}

// Direct Push: whatever was sent, by an administrator or by somebody whose push looks the same.
receiver.onDirectPush("direct") { message, context in
    let sender = message.sender.map { "\($0.typeName) \($0.id)" } ?? "unknown"
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

// Kii states a scope with buckets and topics only. Somebody sent this to a topic and left the topic's name out.
print("\na Direct Push with a scope")
var imitation = PayloadFixture.pushToUser(topic: "news", scope: .group(KiiGroup(id: "G-1")))
imitation.fields[.topic] = nil
print("  -> \(await receiver.receive(imitation.payload(.long)))")

print("\na bucket without a scope")
var bare = PayloadFixture()
bare.fields[.bucketID] = "settings"
print("  -> \(await receiver.receive(bare.payload(.long)))")
