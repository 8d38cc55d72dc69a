import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushDelivery

/// What a guard knows of the breakers of the guard before it, on one store.
@Suite(.timeLimit(.minutes(1)))
struct BreakerRestartTests {
    private let clock = ManualClock(start: .seconds(1000))
    private let store = SpyBreakerStore()
    private let update = PayloadFixture.pushToApp().payload(.long)

    /// Two messages in ten seconds, a first wait of sixty.
    private static let rate = LoopRate(messages: 2, coolDown: .seconds(60))

    private func makeGuard(_ rate: LoopRate = rate) -> LoopGuard {
        LoopGuard(settings: LoopSettings(rate: rate), breakers: store, clock: clock)
    }

    private func judge(_ loopGuard: LoopGuard, _ payload: RawPayload? = nil) throws -> String {
        try loopGuard.judge(payload ?? update, at: clock.now)
    }

    /// Lets two messages pass and the third open the breaker.
    private func trip(_ loopGuard: LoopGuard) throws {
        #expect(try (0..<3).map { _ in try judge(loopGuard) } == ["pass", "pass", "held"])
    }

    /// A guard, and a receiver that has it.
    private func makeReceiver(_ log: EventLog, _ rate: LoopRate = rate) -> (LoopGuard, PushReceiver) {
        let loopGuard = makeGuard(rate)
        let receiver = PushReceiver(clock: clock) { loopGuard }
        receiver.onAny("r") { _, _ in log.add("run") }
        return (loopGuard, receiver)
    }

    @Test("a guard is given a store as the guide says")
    func documented() {
        let loopGuard = LoopGuard(breakers: store)
        #expect(loopGuard.storeFailures == 0)
    }

    @Test("a breaker that is open holds the first message of its key after a restart, and others pass")
    func restart() throws {
        try trip(makeGuard())
        clock.advance(by: .seconds(4))
        let next = makeGuard()
        #expect(try judge(next) == "held")
        #expect(try judge(next, PayloadFixture.pushToApp(object: "other").payload(.long)) == "pass")
        #expect(try judge(next, PayloadFixture.pushToApp(bucket: "other").payload(.long)) == "pass")
    }

    @Test("a wide breaker does too, for every object of its bucket")
    func wide() throws {
        let first = makeGuard(LoopRate(messages: 1))
        for number in 0..<100 {
            #expect(try judge(first, PayloadFixture.pushToApp(object: "o-\(number)").payload(.long)) == "pass")
        }
        #expect(try judge(first, PayloadFixture.pushToApp(object: "o-100").payload(.long)) == "held")
        #expect(store.kept.map(\.key.isWide) == [true])
        let next = makeGuard(LoopRate(messages: 1))
        #expect(try judge(next, PayloadFixture.pushToApp(object: "o-101").payload(.long)) == "held")
        #expect(try judge(next, PayloadFixture.pushToApp(bucket: "other").payload(.long)) == "pass")
    }

    @Test("one that had found a loop waits on after a restart, and twice as long when the loop goes on")
    func waits() async throws {
        let log = EventLog()
        try trip(makeGuard())
        for (number, wait) in [60, 120, 240, 480].enumerated() {
            let (_, receiver) = makeReceiver(log)
            _ = await receiver.receive(update)
            #expect(receiver.held.count == 1)
            if number > 0 {
                let open = try #require(store.kept.first)
                clock.advance(by: clock.now.duration(to: open.until) - .nanoseconds(1))
                #expect(await receiver.handleDue().isEmpty)
                clock.advance(by: .nanoseconds(1))
            }
            // The one that is tried brings the next, again and again, until it is clear.
            for _ in 0..<200 where store.kept.first?.coolDown != .seconds(wait) {
                let outcomes = await receiver.handleDue()
                clock.advance(by: .milliseconds(100))
                for _ in outcomes { _ = await receiver.receive(update) }
            }
            #expect(store.kept.map(\.coolDown) == [.seconds(wait)])
            receiver.dropHeld()
        }
        #expect(log.events.count <= 16)
    }

    @Test(
        "an honest stream that was held when the process ended is handled again, and loses nothing to the dead letters")
    func honestStream() async throws {
        for late in [0, 5, 15, 20, 25, 35, 40, 59, 60, 70, 110] {
            let (store, clock) = (SpyBreakerStore(), ManualClock())
            func receiver() -> PushReceiver {
                let receiver = PushReceiver(clock: clock) { LoopGuard(breakers: store, clock: clock) }
                receiver.onAny("r") { _, _ in }
                return receiver
            }
            do {
                let first = receiver()
                for _ in 0..<21 { _ = await first.receive(update) }
            }
            clock.advance(by: .seconds(late))
            let second = receiver()
            for _ in 0..<240 {
                _ = await second.receive(update)
                await second.handleDue()
                clock.advance(by: .seconds(1))
            }
            #expect(second.metrics.nonzero == ["handled: 240"], "after \(late) seconds")
            #expect(store.kept.isEmpty)
        }
    }

    @Test("what an inbox brings again after a restart does not count as what comes anyway")
    func replays() async throws {
        let log = EventLog()
        try trip(makeGuard())
        let before = clock.now
        clock.advance(by: .seconds(10))
        let (_, receiver) = makeReceiver(log)
        var payload = update
        payload.arrivedAt = before
        for _ in 0..<50 { #expect(await receiver.receive(payload).name == "held") }
        clock.advance(by: .milliseconds(4500))
        #expect(await receiver.handleDue().count == 1, "against silence one is enough")
    }

    @Test("one that has closed is forgotten by the store, so that a restart begins anew")
    func closes() async throws {
        let log = EventLog()
        let (_, receiver) = makeReceiver(log)
        for _ in 0..<4 { _ = await receiver.receive(update) }
        #expect(store.kept.count == 1)
        for _ in 0..<20 {
            clock.advance(by: .milliseconds(500))
            await receiver.handleDue()
        }
        #expect(receiver.held.isEmpty && log.events.count == 4)
        #expect(store.kept.isEmpty)
        #expect(try judge(makeGuard()) == "pass")
    }

    @Test("the store is written when a breaker opens or has closed, and for no other message")
    func writes() throws {
        let loopGuard = makeGuard()
        for number in 0..<1000 {
            #expect(try judge(loopGuard, PayloadFixture.pushToApp(object: "o-\(number)").payload(.long)) != "")
        }
        #expect(store.writes == 1, "the bucket's breaker has opened at the 201st")
        let other = PayloadFixture.pushToApp(bucket: "other").payload(.long)
        for number in 0..<100 { #expect(try judge(loopGuard, other) == (number < 2 ? "pass" : "held")) }
        #expect(store.writes == 2)
    }

    @Test("what a store says of the time is cut to the wait, and the wait to an hour or the guard's own")
    func clamps() async throws {
        let year = Duration.seconds(31_557_600)
        let rows: [(coolDown: Duration, until: Duration, guards: Duration, held: Duration)] = [
            (.seconds(60), year, .seconds(60), .seconds(60)),
            (year, year, .seconds(60), .seconds(3600)),
            (year, year, .seconds(7200), .seconds(7200)),
            // It had found no loop: it listens anew.
            (.seconds(-5), year, .seconds(60), .milliseconds(4500)),
            (.seconds(60), .seconds(30), .seconds(60), .seconds(30)),
            (.seconds(60), .seconds(-30), .seconds(60), .zero),
        ]
        try trip(makeGuard())
        let key = try #require(store.kept.first?.key)
        for row in rows {
            let now = clock.now
            store.set([TrippedBreaker(key: key, coolDown: row.coolDown, until: now.advanced(by: row.until))])
            let receiver = PushReceiver(clock: clock) { makeGuard(LoopRate(messages: 2, coolDown: row.guards)) }
            receiver.onAny("r") { _, _ in }
            #expect(await receiver.receive(update).name == "held", "\(row)")
            #expect(receiver.loopGuard?.nextDue.map { max($0, now) } == now.advanced(by: row.held), "\(row)")
        }
    }

    @Test("one whose wait has been over for an hour is forgotten, by the store too")
    func longOver() throws {
        try trip(makeGuard())
        clock.advance(by: .seconds(600))
        _ = makeGuard()
        #expect(store.kept.count == 1)
        clock.advance(by: .seconds(3600))
        let last = makeGuard()
        #expect(try judge(last, PayloadFixture.pushToApp(object: "other").payload(.long)) == "pass")
        #expect(store.kept.isEmpty)
    }

    @Test("of more breakers than a guard may have, the store is told to forget those that find no room")
    func tooMany() throws {
        let extra = 10
        // As digests are: keys that follow each other would all be looked for in one place.
        var dice = SeededGenerator(seed: 1)
        let until = clock.now.advanced(by: .seconds(60))
        let breakers = (0..<RateBreakers.mostNarrow + extra).map { _ in
            TrippedBreaker(
                key: TrippedBreaker.Key(isWide: false, digest: DedupeKey(first: dice.next(), second: dice.next())),
                coolDown: .seconds(60), until: until)
        }
        store.set(breakers + breakers.prefix(1))
        let loopGuard = makeGuard()
        _ = try judge(loopGuard)
        #expect(store.kept.count == RateBreakers.mostNarrow)
        #expect(loopGuard.storeFailures == 0)
    }

    // MARK: A store that fails

    @Test("a store that cannot be read is as an empty one, and counted")
    func cannotRead() throws {
        try trip(makeGuard())
        store.fails = true
        let next = makeGuard()
        #expect(next.storeFailures == 1)
        #expect(next.takeStoreFailure() is SpyBreakerStore.Failed)
        #expect(next.takeStoreFailure() == nil)
        store.fails = false
        try trip(next)
        #expect(store.kept.count == 1)
    }

    @Test("a store that cannot be written stops nothing, and is told again after a growing pause")
    func cannotWrite() async throws {
        let log = EventLog()
        // Nobody gives the held ones their turns here, so that the breakers stay open.
        let (loopGuard, receiver) = makeReceiver(log, LoopRate(messages: 2))
        store.fails = true
        for expected in ["handled", "handled", "held", "held"] {
            #expect(await receiver.receive(update).name == expected)
        }
        #expect(loopGuard.storeFailures == 1)
        // Another breaker opens meanwhile; in the pause nobody asks.
        try trip(loopGuard, "other")
        #expect(loopGuard.storeFailures == 1)
        for (wait, failures) in [
            (0, 1), (1, 2), (1, 2), (1, 3), (3, 3), (1, 4), (8, 5), (16, 6), (30, 7), (29, 7), (1, 8),
        ] {
            clock.advance(by: .seconds(wait))
            loopGuard.tellStoreAgain()
            #expect(loopGuard.storeFailures == failures, "after \(clock.now)")
        }
        store.fails = false
        clock.advance(by: .seconds(30))
        loopGuard.tellStoreAgain()
        #expect(store.kept.count == 2)
        let writes = store.writes
        loopGuard.tellStoreAgain()
        #expect(store.writes == writes)
    }

    private func trip(_ loopGuard: LoopGuard, _ object: String) throws {
        let payload = PayloadFixture.pushToApp(object: object).payload(.long)
        for _ in 0..<3 { _ = try judge(loopGuard, payload) }
    }

    @Test("a service tells that the breakers cannot be kept")
    func told() async throws {
        store.fails = true
        let loopGuard = makeGuard()
        let receiver = PushReceiver(clock: clock) { loopGuard }
        let told = EventLog()
        let service = PushService(receiver, [HandTransport()])
        service.onEvent { event in if case .storeFailed(let what) = event { told.add(what) } }
        let run = Task { try await service.run() }
        try await until { !told.events.isEmpty }
        #expect(told.events == ["the loop guard's breakers could not be stored: Failed()"])
        run.cancel()
        _ = try await run.value
    }

    // MARK: Many at once

    @Test("however many open and close at once, in the end the store has those that are open")
    func atOnce() async throws {
        let loopGuard = makeGuard(LoopRate(messages: 1, coolDown: .seconds(60)))
        let time = clock.now
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for number in 0..<40 {
                        // Two tasks share each object; the bucket is one's own, so that none opens as a whole.
                        let fixture = PayloadFixture.pushToApp(bucket: "b-\(task / 2)", object: "o-\(number)")
                        _ = try? loopGuard.judge(fixture.payload(.long), at: time)
                    }
                }
            }
        }
        #expect(store.kept.count == 160)
        let next = LoopGuard(settings: LoopSettings(rate: LoopRate(messages: 1)), breakers: store, clock: clock)
        #expect(
            try next.judge(PayloadFixture.pushToApp(bucket: "b-3", object: "o-39").payload(.long), at: time) == "held")
    }
}

/// A store that counts its calls, and fails when a test says so.
final class SpyBreakerStore: BreakerStore {
    struct Failed: Error {}

    private struct State {
        var store = InMemoryBreakerStore(capacity: .max)
        var writes = 0
        var fails = false
    }

    private let state = Mutex(State())

    var secret: DedupeSecret { DedupeSecret(3, 4) }

    var fails: Bool {
        get { state.withLock { $0.fails } }
        set { state.withLock { $0.fails = newValue } }
    }

    /// How often something was written.
    var writes: Int { state.withLock { $0.writes } }

    /// What it has.
    var kept: [TrippedBreaker] { state.withLock { $0.store.breakers() } }

    /// Puts breakers into it, in place of what is there.
    func set(_ breakers: [TrippedBreaker]) {
        state.withLock { state in
            state.store = InMemoryBreakerStore(capacity: .max)
            state.store.write(breakers, closed: [])
        }
    }

    func breakers() throws -> [TrippedBreaker] {
        try state.withLock { state in
            if state.fails { throw Failed() }
            return state.store.breakers()
        }
    }

    func write(_ opened: [TrippedBreaker], closed: [TrippedBreaker.Key]) throws {
        try state.withLock { state in
            if state.fails { throw Failed() }
            state.writes += 1
            state.store.write(opened, closed: closed)
        }
    }
}
