import KiiPush
import KiiPushTesting

let clock = ManualClock()
let receiver = PushReceiver(app: "0123abcd", clock: clock) {
    Deduplicator()
    LoopGuard()
    // Behind the deduplicator, so that a repeated message costs its sender nothing.
    SenderQuota(limit: 2, per: .seconds(60))
    ScopeFilter()
}
receiver.onPushToUser(topic: "news") { message, context in
    print("  \(message.sender?.id ?? "someone") says: \(message.data["text"]?.string ?? "nothing")")
}
receiver.onTrace { trace in print(trace) }

func send(_ number: Int64, from sender: String) async {
    let fixture = PayloadFixture.pushToUser(sender: sender, sentAt: number)
    _ = await receiver.receive(fixture.payload(.long))
}

for number in 1...3 { await send(Int64(number), from: "chatty") }
await send(4, from: "quiet")

print("\na minute later")
clock.advance(by: .seconds(60))
await send(5, from: "chatty")
