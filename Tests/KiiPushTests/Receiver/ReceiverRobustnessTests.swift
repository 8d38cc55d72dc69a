import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

@Suite(.timeLimit(.minutes(1)))
struct ReceiverRobustnessTests {
    @Test("payloads that are not pushes do not affect others")
    func garbage() async {
        let receiver = PushReceiver {
            Deduplicator()
            // What is left of a garbled payload names no object, and there are five hundred of them.
            LoopGuard(settings: .standard.without(.pace))
            ScopeFilter()
        }
        receiver.onAny("r") { _, _ in }
        var source = SeededGenerator(seed: 7)
        for round in 0..<500 {
            var bytes = PayloadFixture.pushToApp(sentAt: 1).payload(.long).bytes
            for _ in 0...2 {
                bytes[Int.random(in: 0..<bytes.count, using: &source)] = UInt8.random(in: 0...255, using: &source)
            }
            _ = await receiver.receive(RawPayload(bytes))
            let honest = PayloadFixture.pushToApp(object: "o-\(round)", sentAt: 1000, modifiedAt: nil)
            #expect(await receiver.receive(honest.payload(.long)).name == "handled")
        }
        #expect(receiver.metrics.received == 1000)
    }

    @Test("copies of a failing message never run at once or wait forever")
    func failingCopiesAtOnce() async {
        let receiver = PushReceiver(app: "0123abcd")
        let running = Atomic<Int>(0)
        let overlaps = Atomic<Int>(0)
        receiver.onPushToApp("r") { _, _ in
            if running.add(1, ordering: .relaxed).oldValue > 0 { overlaps.add(1, ordering: .relaxed) }
            await Task.yield()
            running.subtract(1, ordering: .relaxed)
            throw TestError()
        }
        let payload = PayloadFixture.pushToApp().payload(.long)
        let dispositions = await withTaskGroup(of: Disposition.self) { group in
            for _ in 0..<500 { group.addTask { await receiver.receive(payload).disposition } }
            return await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
        #expect(overlaps.load(ordering: .relaxed) == 0)
        #expect(dispositions == [.retryLater: 500])
        #expect(receiver.metrics.received == 500)
    }
}
