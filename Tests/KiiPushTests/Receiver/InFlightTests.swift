import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// Copies that arrive while their message is being handled.
@Suite(.timeLimit(.minutes(1)))
struct InFlightTests {
    @Test("a copy in flight is redelivered after the first ends", arguments: [true, false])
    func copy(succeeds: Bool) async {
        let (entered, leave, handled, store) = (Gate(), Gate(), EventLog(), SpyStore())
        let receiver = PushReceiver(app: "0123abcd") { Deduplicator(store: store, secret: .published) }
        receiver.onPushToApp("r") { _, _ in
            handled.add("call")
            entered.open()
            await leave.wait()
            if !succeeds { throw TestError() }
        }
        let fixture = PayloadFixture.pushToApp()

        async let first = receiver.receive(fixture.payload(.long))
        await entered.wait()
        let copy = await receiver.receive(fixture.payload(.short))
        #expect("\(copy)" == "duplicate (inFlight)" && copy.disposition == .retryLater)
        leave.open()
        #expect(await first.name == (succeeds ? "handled" : "failed"))
        let again = await receiver.receive(fixture.payload(.short))
        #expect("\(again)" == (succeeds ? "duplicate (done)" : "failed (r)"), "a failed message is tried again")
        #expect(handled.events.count == (succeeds ? 1 : 2))
        #expect(receiver.metrics.count("duplicate", "inFlight") == 1 && receiver.metrics.received == 3)
    }

    @Test("handles one of many concurrent copies, and runs them one after the other while they fail")
    func manyAtOnce() async {
        let (calls, deduplicator) = (EventLog(), Deduplicator())
        let receiver = PushReceiver { deduplicator }
        let ids = Mutex<Set<UInt64>>([])
        let isRunning = Atomic<Bool>(false)
        receiver.onTrace { trace in ids.withLock { _ = $0.insert(trace.messageID) } }
        receiver.onPushToApp("r") { _, _ in
            calls.add("call")
            if isRunning.exchange(true, ordering: .acquiringAndReleasing) { Issue.record("two copies at once") }
            for _ in 0..<20 { await Task.yield() }
            isRunning.store(false, ordering: .releasing)
            if calls.events.count < 3 { throw TestError() }
        }
        let payloads = PayloadFixture.KeyStyle.allCases.map { PayloadFixture.pushToApp().payload($0) }
        let accepted = await withTaskGroup { group in
            for number in 0..<300 {
                group.addTask {
                    while true {
                        let outcome = await receiver.receive(payloads[number % payloads.count])
                        if outcome.disposition == .accept { return outcome }
                        await Task.yield()
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(accepted.count { $0.name == "handled" } == 1 && calls.events.count == 3)
        #expect(deduplicator.counts.store == SeenCounts(strong: .init(remembered: 1)))
        #expect(deduplicator.counts.storeFailures == 0 && deduplicator.counts.unreportedEnds == 0)
        #expect(ids.withLock { $0.count } == receiver.metrics.received, "each message has a number of its own")
    }

    @Test("two receivers that share a store handle a message once")
    func sharedStore() async {
        let (entered, leave, store) = (Gate(), Gate(), SpyStore())
        let receivers = (0..<2).map { _ in PushReceiver { Deduplicator(store: store, secret: .published) } }
        for receiver in receivers {
            receiver.onAny("r") { _, _ in
                entered.open()
                await leave.wait()
            }
        }
        let fixture = PayloadFixture.pushToApp()
        async let first = receivers[0].receive(fixture.payload(.long))
        await entered.wait()
        #expect(await "\(receivers[1].receive(fixture.payload(.short)))" == "duplicate (inFlight)")
        leave.open()
        #expect(await "\(first)" == "handled")
        #expect(await "\(receivers[1].receive(fixture.payload(.short)))" == "duplicate (done)")
    }
}
