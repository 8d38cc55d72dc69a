import KiiPush

let receiver = PushReceiver(app: "0123abcd", me: [.thing(id: "th.1")])

receiver.onPushToApp(bucket: "settings", scope: .user("*"), events: [.objectUpdated]) { event, context in
    print("\(event.bucket.name) changed:", event.object?.id ?? "no object")
}
receiver.onPushToUser(topic: "news") { message, context in
    print("\(message.topic.name) says:", message.data["text"]?.string ?? "nothing")
}
receiver.onDirectPush { message, context in
    print("direct push:", message.data["text"]?.string ?? "nothing")
}

// Any transport will do: hand over the bytes that it brings, and tell it what comes back.
let payload = RawPayload(
    #"{"aps":{},"bi":"settings","oi":"o-1","sa":"0123abcd","st":"APP_AND_USER","su":"u-1","t":"DATA_OBJECT_UPDATED","w":1}"#
)
for _ in 1...2 {
    let outcome = await receiver.receive(payload)
    print(outcome, "- tell the transport:", outcome.disposition)
}
