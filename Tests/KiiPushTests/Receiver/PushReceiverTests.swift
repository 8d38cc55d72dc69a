import KiiPushTesting
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
            receiver.onAny(id, options: .continue) { [log] _, _ in
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
        receiver.onPushToApp("a", options: .continue) { [log] _, _ in log.add("a") }
        receiver.onPushToApp("b") { [log] _, _ in log.add("b") }
        receiver.onPushToApp("c") { [log] _, _ in log.add("c") }
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
        receiver.onAny("r") { _, _ in }
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
}
