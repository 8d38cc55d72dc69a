import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush

/// What a copy of a message does that comes while the message is being handled.
@Suite(.timeLimit(.minutes(1)))
struct InFlightTests {
    @Test("a copy waits for the end of the first one and shares what its transport is told", arguments: [true, false])
    func shares(succeeds: Bool) async {
        let entered = Gate()
        let leave = Gate()
        let waits = [Gate(), Gate()]
        let store = SpyStore(questions: waits)
        let handled = EventLog()
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
        async let second = receiver.receive(fixture.payload(.short))
        await waits[0].wait()
        async let third = receiver.receive(fixture.payload(.strings))
        await waits[1].wait()
        #expect(receiver.metrics.received == 0, "nobody has an outcome before the handler is done")
        leave.open()

        let disposition = succeeds ? Disposition.accept : .retryLater
        #expect(await first.name == (succeeds ? "handled" : "failed"))
        for copy in await [second, third] {
            #expect("\(copy)" == "duplicate (inFlight)")
            #expect(copy.disposition == disposition)
        }
        #expect(handled.events == ["call"])
        #expect(store.log.events == ["fresh", "inFlight", "inFlight", succeeds ? "commit" : "release"])
        #expect(receiver.metrics.count("duplicate", "inFlight") == 2)
        #expect(receiver.metrics.received == 3)

        let later = await receiver.receive(fixture.payload(.long))
        #expect("\(later)" == (succeeds ? "duplicate (done)" : "failed (r)"), "a failed message is tried again")
    }

    @Test("a copy that waits holds up no other message")
    func holdsUpNothing() async {
        let entered = Gate()
        let leave = Gate()
        let waits = Gate()
        let receiver = PushReceiver(app: "0123abcd") {
            Deduplicator(store: SpyStore(questions: [waits]), secret: .published)
        }
        receiver.onPushToApp("slow") { _, _ in
            entered.open()
            await leave.wait()
        }
        receiver.onDirectPush("quick") { _, _ in }
        let payload = PayloadFixture.pushToApp().payload(.long)
        async let first = receiver.receive(payload)
        await entered.wait()
        async let second = receiver.receive(payload)
        await waits.wait()
        #expect(await "\(receiver.receive(PayloadFixture.directPush().payload(.long)))" == "handled")
        leave.open()
        #expect(await "\(first)" == "handled")
        #expect(await "\(second)" == "duplicate (inFlight)")
    }

    @Test("of many copies that come at once one is handled, and the others share its end", arguments: [true, false])
    func manyAtOnce(succeeds: Bool) async {
        let calls = EventLog()
        let deduplicator = Deduplicator()
        let receiver = PushReceiver { deduplicator }
        receiver.onPushToApp("r") { _, _ in
            calls.add("call")
            for _ in 0..<20 { await Task.yield() }
            if !succeeds { throw TestError() }
        }
        let payloads = PayloadFixture.KeyStyle.allCases.map { PayloadFixture.pushToApp().payload($0) }
        let outcomes = await withTaskGroup { group in
            for number in 0..<300 { group.addTask { await receiver.receive(payloads[number % payloads.count]) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count == 300 && receiver.metrics.received == 300)
        let ended = outcomes.filter { $0.name == (succeeds ? "handled" : "failed") }
        // Those that come behind a failure are handled again.
        #expect(succeeds ? ended.count == 1 : ended.count >= 1)
        #expect(calls.events.count == ended.count)
        let disposition = succeeds ? Disposition.accept : .retryLater
        #expect(outcomes.allSatisfy { $0.disposition == disposition })
        #expect(deduplicator.counts.store == SeenCounts(strong: .init(remembered: succeeds ? 1 : 0)))
        #expect(deduplicator.counts.storeFailures == 0 && deduplicator.counts.unreportedEnds == 0)
    }

    @Test("two receivers that share a store share the end of a message too")
    func sharedStore() async {
        let entered = Gate()
        let leave = Gate()
        let waits = Gate()
        let store = SpyStore(questions: [waits])
        let receivers = (0..<2).map { _ in PushReceiver { Deduplicator(store: store, secret: .published) } }
        for receiver in receivers {
            receiver.onAny("r") { _, _ in
                entered.open()
                await leave.wait()
                throw TestError()
            }
        }
        let fixture = PayloadFixture.pushToApp()
        async let first = receivers[0].receive(fixture.payload(.long))
        await entered.wait()
        async let second = receivers[1].receive(fixture.payload(.short))
        await waits.wait()
        leave.open()
        #expect(await "\(first)" == "failed (r)")
        #expect(await "\(second)" == "duplicate (inFlight)")
        #expect(await second.disposition == .retryLater)
    }

    @Test("those who wait belong to a store")
    func oneForEachStore() {
        let store = SpyStore()
        let waiters = InFlightWaiters.of(store)
        #expect(InFlightWaiters.of(store) === waiters)
        #expect(InFlightWaiters.of(SpyStore()) !== waiters)
        // A value cannot be known again.
        #expect(InFlightWaiters.of(AlwaysInFlight()) !== InFlightWaiters.of(AlwaysInFlight()))
    }

    @Test("a copy whose first one has ended meanwhile is to be delivered again")
    func tooLate() async {
        let receiver = PushReceiver { Deduplicator(store: AlwaysInFlight(), secret: .published) }
        let outcome = await receiver.receive(PayloadFixture.pushToApp().payload(.long))
        #expect("\(outcome)" == "duplicate (inFlight)")
        #expect(outcome.disposition == .retryLater)
    }

    @Test("a copy whose first one was handled meanwhile is accepted, and one whose first one failed is to come again")
    func justEnded() async {
        for (end, disposition) in [(EndsMeanwhile.End.committed, Disposition.accept), (.released, .retryLater)] {
            let store = EndsMeanwhile(end)
            let receiver = PushReceiver { Deduplicator(store: store, secret: .published) }
            let outcome = await receiver.receive(PayloadFixture.pushToApp().payload(.long))
            #expect("\(outcome)" == "duplicate (inFlight)" && outcome.disposition == disposition)
            #expect(store.reserved == 0, "what was asked again must not stay reserved")
        }
    }

    /// A store whose first message ends between the first question and the second.
    private final class EndsMeanwhile: SeenStore {
        enum End: Sendable {
            case committed
            case released
        }

        private let end: End
        private let state = Mutex((begun: 0, reserved: 0))
        var reserved: Int { state.withLock { $0.reserved } }

        init(_ end: End) { self.end = end }

        func begin(_ keys: DedupeKeys, now: MonotonicInstant) -> SeenState {
            state.withLock { state in
                state.begun += 1
                if state.begun == 1 { return .inFlight(SeenLease(number: 1, keys: keys, arrivedAt: now)) }
                if end == .committed { return .done }
                state.reserved += 1
                return .fresh(SeenLease(number: 2, keys: keys, arrivedAt: now))
            }
        }

        func commit(_ lease: SeenLease, now: MonotonicInstant) { state.withLock { $0.reserved -= 1 } }
        func release(_ lease: SeenLease) { state.withLock { $0.reserved -= 1 } }
        func isInFlight(_ lease: SeenLease) -> Bool { false }
    }

    @Test("one copy that comes too late does not send those away that came in time")
    func mixed() async {
        let waiters = InFlightWaiters()
        let lease = SeenLease(number: 1, keys: .numbered(1), arrivedAt: .seconds(0))
        let isWaiting = Gate()
        async let inTime = waiters.wait(for: lease) {
            isWaiting.open()
            return nil
        }
        await isWaiting.wait()
        #expect(await waiters.wait(for: lease) { .retryLater } == .retryLater)
        waiters.finish(SeenLease(number: 2, keys: .numbered(2), arrivedAt: .seconds(0)), .reject)
        waiters.finish(lease, .accept)
        #expect(await inTime == .accept)
    }

    /// A store in which every message is just ending.
    private struct AlwaysInFlight: SeenStore {
        func begin(_ keys: DedupeKeys, now: MonotonicInstant) -> SeenState {
            .inFlight(SeenLease(number: 1, keys: keys, arrivedAt: now))
        }
        func commit(_ lease: SeenLease, now: MonotonicInstant) {}
        func release(_ lease: SeenLease) {}
        func isInFlight(_ lease: SeenLease) -> Bool { false }
    }
}
