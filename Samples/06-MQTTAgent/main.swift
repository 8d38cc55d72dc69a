import KiiPush
import KiiPushAgent

let agent = PushAgent.orExit { try PushAgent(app: "0123abcd", me: [.thing(id: "th.1")], state: .service) }

agent.onPushToApp(bucket: "settings", object: "*") { event, context in
    agent.note("object \(event.object.id) of bucket \(event.bucket.name) has changed")
}
agent.onPushToUser(topic: "news") { message, context in
    agent.note("\(message.topic.name) says: \(message.data["text"]?.string ?? "nothing")")
}
if let broker = CommandLine.arguments.dropFirst().first {
    try await agent.run(.mqtt(broker))
} else {
    try await agent.run(.stdin)
}
