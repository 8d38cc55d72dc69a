import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct PushReceiverTests {
    let log = EventLog()
    let event = PayloadFixture.pushToApp().payload(.long)

    private func receiver(_ store: SpyStore = SpyStore()) -> PushReceiver {
        PushReceiver(app: "0123abcd") {
            Deduplicator(store: store, secret: .published)
            LoopGuard()
            ScopeFilter()
        }
    }

    // MARK: Handlers

    @Test(
        "when a route fails, the others still run, and the outcome has the first error and names those that handled it",
        arguments: [["a"], ["b"], ["a", "b"]])
    func failing(routes: [String]) async {
        let store = SpyStore()
        let receiver = receiver(store)
        for id in ["a", "b"] {
            receiver.onAny(id: id, options: .continue) { [log] _, _ in
                log.add(id)
                if id == routes[0] { throw TestError() }
                if routes.contains(id) { throw CancellationError() }
            }
        }
        guard case .failed(let failure) = await receiver.receive(event) else {
            Issue.record("it should have failed")
            return
        }
        #expect(log.events == ["a", "b"] && failure.place == routes[0] && !failure.isMiddleware)
        #expect(failure.error is TestError && failure.handled.ids == ["a", "b"].filter { !routes.contains($0) })
        #expect(store.log.events == ["fresh", "release"])
        let counts = receiver.metrics.routes.map { "\($0.handled) \($0.failed)" }
        #expect(counts == ["a", "b"].map { routes.contains($0) ? "0 1" : "1 0" })
    }

    // MARK: Kill switch

    @Test("a killed route still counts as matched, and others run")
    func killedRoute() async {
        let store = SpyStore()
        let loopGuard = LoopGuard()
        let receiver = PushReceiver {
            Deduplicator(store: store, secret: .published)
            loopGuard
        }
        receiver.onPushToApp(id: "a", options: .continue) { [log] _, _ in log.add("a") }
        receiver.onPushToApp(id: "b") { [log] _, _ in log.add("b") }
        receiver.onPushToApp(id: "c") { [log] _, _ in log.add("c") }
        func send(_ time: Int64) async -> Outcome {
            await receiver.receive(PayloadFixture.pushToApp(sentAt: time, modifiedAt: nil).payload(.long))
        }
        loopGuard.kill(.route("b"), for: .seconds(60))
        #expect(await "\(send(1))" == "handled")
        #expect(log.events == ["a"], "the route behind a stopped one does not take its place")
        loopGuard.kill(.route("a"), for: .seconds(60))
        #expect(await "\(send(2))" == "looped (killSwitch)")
        #expect(log.events == ["a"])
        loopGuard.revive(.route("b"))
        #expect(await "\(send(3))" == "handled")
        #expect(log.events == ["a", "b"])
        #expect(store.log.events == ["fresh", "commit", "fresh", "commit", "fresh", "commit"])
    }

    // MARK: A chain of one's own

    @Test("the standard chain has its order and settings")
    func standardChain() async {
        let clock = ManualClock()
        let receiver = PushReceiver(app: "0123abcd", me: [.thing(id: "th.me")], serving: .app, clock: clock)
        #expect(receiver.middleware == ["Deduplicator", "LoopGuard", "ScopeFilter"])
        receiver.onAny(id: "r") { _, _ in }
        func outcome(_ fixture: PayloadFixture) async -> String { await "\(receiver.receive(fixture.payload(.long)))" }
        #expect(await outcome(.pushToApp(sender: "th.me", sentAt: 1, modifiedAt: nil)) == "looped (identity)")
        #expect(await outcome(.pushToApp(sentAt: 2, modifiedAt: nil, app: "ffff0000")) == "refused (app)")
        #expect(await outcome(.pushToUser(scope: .user(KiiUser(id: "U-1")))) == "refused (scope)")
        #expect(await outcome(.pushToApp(sentAt: 3)) == "handled")
        #expect(await outcome(.pushToApp(sentAt: 3)) == "duplicate (done)")
        clock.advance(by: .seconds(600))
        #expect(await outcome(.pushToApp(sentAt: 3)) == "handled", "the chain goes by the receiver's clock")
    }

    @Test("payloads that are not pushes do not affect others")
    func garbage() async {
        let receiver = PushReceiver {
            Deduplicator()
            // What is left of a garbled payload names no object, and there are five hundred of them.
            LoopGuard(settings: .standard.without(.pace))
            ScopeFilter()
        }
        receiver.onAny(id: "r") { _, _ in }
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
}

/// Copies that arrive while their message is being handled.
@Suite(.timeLimit(.minutes(1)))
struct InFlightTests {
    @Test("a copy in flight is redelivered after the first ends", arguments: [true, false])
    func copy(succeeds: Bool) async {
        let (entered, leave, handled, store) = (Gate(), Gate(), EventLog(), SpyStore())
        let receiver = PushReceiver(app: "0123abcd") { Deduplicator(store: store, secret: .published) }
        receiver.onPushToApp(id: "r") { _, _ in
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
        receiver.onPushToApp(id: "r") { _, _ in
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
            receiver.onAny(id: "r") { _, _ in
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
