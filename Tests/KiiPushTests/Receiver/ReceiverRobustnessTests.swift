import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

@Suite(.timeLimit(.minutes(1)))
struct ReceiverRobustnessTests {
    @Test("truncated payloads are undecodable, and the whole one is still handled")
    func cutAnywhere() async {
        let store = SpyStore()
        let receiver = PushReceiver { Deduplicator(store: store, secret: .published) }
        receiver.onAny("r") { _, _ in }
        var cuts = 0
        for fixture in [PayloadFixture.pushToApp(), .pushToUser(), .directPush()] {
            let payload = fixture.payload(.short)
            for end in 0..<payload.bytes.count {
                let outcome = await receiver.receive(RawPayload(Array(payload.bytes[..<end]), transport: .apns))
                #expect(outcome.name == "undecodable", "cut at \(end)")
                #expect(outcome.disposition == .reject)
                cuts += 1
            }
            #expect(await receiver.receive(payload).name == "handled")
        }
        #expect(store.log.events == Array(repeating: ["fresh", "commit"], count: 3).flatMap { $0 })
        #expect(receiver.metrics.count("undecodable") == cuts)
        #expect(receiver.metrics.count("undecodable", "empty") == 3)
        #expect(receiver.metrics.count("undecodable", "unexpectedEnd") == cuts - 3)
        #expect(receiver.metrics.received == cuts + 3)
    }

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

    @Test("a payload beyond the receiver's limits is undecodable")
    func limits() async {
        let receiver = PushReceiver(limits: PayloadLimits(bytes: 50)) {}
        receiver.onAny("r") { _, _ in }
        #expect(await "\(receiver.receive(PayloadFixture.pushToApp().payload(.long)))" == "undecodable (limitExceeded)")
        #expect(await "\(receiver.receive(RawPayload(#"{"a":1}"#)))" == "handled")
    }

    @Test("a thousand messages at once are each handled once")
    func manyAtOnce() async {
        let receiver = PushReceiver(app: "0123abcd")
        let handled = Mutex<[Int64: Int]>([:])
        receiver.onPushToApp("r", bucket: "settings", options: RouteOptions(pace: .unlimited)) {
            event, _ in
            await Task.yield()
            handled.withLock { $0[event.message.sentAt ?? -1, default: 0] += 1 }
        }
        let names = await withTaskGroup(of: String.self) { group in
            for number in 0..<1000 {
                let fixture = PayloadFixture.pushToApp(object: "o-\(number)", sentAt: Int64(number), modifiedAt: nil)
                let payload = fixture.payload(.long)
                group.addTask { await receiver.receive(payload).name }
            }
            return await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
        #expect(names == ["handled": 1000])
        #expect(handled.withLock { $0.count } == 1000)
        #expect(handled.withLock { $0.values.allSatisfy { $0 == 1 } })
        #expect(receiver.metrics.nonzero == ["handled: 1000"])
        #expect(receiver.metrics.routes[0].handled == 1000)
    }

    @Test("handles one of a thousand concurrent copies, and counts them all")
    func copiesAtOnce() async {
        let receiver = PushReceiver(app: "0123abcd")
        let calls = Atomic<Int>(0)
        receiver.onPushToApp("r") { _, _ in
            calls.add(1, ordering: .relaxed)
            await Task.yield()
        }
        let ids = Mutex<Set<UInt64>>([])
        receiver.onTrace { trace in ids.withLock { _ = $0.insert(trace.messageID) } }
        let fixture = PayloadFixture.pushToApp()
        let names = await withTaskGroup(of: String.self) { group in
            for number in 0..<1000 {
                let payload = fixture.payload(PayloadFixture.KeyStyle.allCases[number % 3])
                group.addTask { await receiver.receive(payload).name }
            }
            return await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
        #expect(names == ["handled": 1, "duplicate": 999])
        #expect(calls.load(ordering: .relaxed) == 1)
        #expect(receiver.metrics.received == 1000)
        #expect(ids.withLock { $0.count } == 1000, "each message has a number of its own")
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
