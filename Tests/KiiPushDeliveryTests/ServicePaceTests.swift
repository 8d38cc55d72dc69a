import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushDelivery
@testable import KiiPushTestSupport
import KiiPushRules

/// What waits for its pace in a service.
@Suite(.oneByOne, .timeLimit(.minutes(5)))
struct ServicePaceTests {
    /// Letters of one topic and sender: none replaces another.
    private static func letters(_ numbers: ClosedRange<Int>, _ topic: String = "news") -> [RawPayload] {
        numbers.map { ServiceBench.topic($0, topic, sender: "U") }
    }

    private static func changes(_ numbers: ClosedRange<Int>, _ object: String = "o") -> [RawPayload] {
        numbers.map { ServiceBench.payload($0, object) }
    }

    private static func inbox(_ isDurable: Bool) -> any Inbox { isDurable ? SpyInbox() : InMemoryInbox() }

    /// How many messages wait, as far as the guard knows.
    private static func waiting(_ bench: ServiceBench) -> Int {
        bench.loopGuard.paced.reduce(0) { $0 + $1.waiting }
    }

    private static func handled(_ numbers: ClosedRange<Int>) -> [String] { numbers.map { "r \($0)" } }

    /// Opens a bench, hands payloads over, and waits until their lane waits for its pace.
    private static func paced(
        _ bench: ServiceBench, _ payloads: [RawPayload]
    ) async throws -> (receipts: [Receipt], run: Task<DrainReport, any Error>) {
        let (intake, run) = await bench.open()
        let receipts = try intake.submit(payloads)
        try await until { bench.service.status.paced == 1 }
        return (receipts, run)
    }

    // MARK: Order

    @Test(
        "letters keep their order while they wait, others go on at once, and the status says so",
        arguments: [true, false])
    func order(isDurable: Bool) async throws {
        let bench = ServiceBench(inbox: Self.inbox(isDurable), isPaced: true)
        let traces = TraceLog()
        bench.receiver.onTrace { traces.add($0) }
        let (intake, run) = await bench.open()
        let receipts = try intake.submit(Self.letters(1...50))
        try await until { bench.service.status.paced == 1 }
        #expect(bench.log.events == Self.handled(1...20))
        #expect(bench.service.status.waiting == 29 && bench.service.status.retrying == 0)
        #expect(Self.waiting(bench) == 30 && bench.loopGuard.paced.map(\.level) == [.letters])
        // Other lanes go on.
        #expect(await intake.takeAndWait(ServiceBench.topic(101, "other", sender: "U")) == "handled")
        #expect(bench.clock.now == .seconds(0))
        try await bench.passTime { receipts.allSatisfy { $0.word != "open" } }
        #expect(receipts.map(\.word) == Array(repeating: "handled", count: 50))
        #expect(bench.log.events == Self.handled(1...20) + ["r 101"] + Self.handled(21...50))
        #expect(bench.receiver.metrics.nonzero == ["handled: 51"], "what waits has not ended")
        let paced = traces.traces.filter { $0.outcome.name == "paced" }
        // Each says once that it waits, however often it is asked again.
        #expect(Set(paced.map(\.messageID)).count == paced.count && !paced.isEmpty)
        #expect(bench.receiver.metrics.routes.map(\.paced) == [paced.count])
        for trace in paced {
            #expect(traces.traces.contains { $0.messageID == trace.messageID && $0.outcome.name == "handled" })
        }
        #expect(Self.waiting(bench) == 0)
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("several deliveries of one lane that fall due at once keep their order", arguments: [true, false])
    func oneLane(isBlocking: Bool) async throws {
        let delivery = DeliverySettings.with {
            ($0.onFailure, $0.backoff, $0.maxBackoff) = (isBlocking ? .block : .skip, .seconds(8), .seconds(8))
        }
        let (bench, intake, run) = await ServiceBench(delivery: delivery, isPaced: true) { message, context in
            if (18...20).contains(message.number), context.attempt == 1 { throw TestError() }
        }.opened()
        let receipts = try intake.submit(Self.letters(1...26))
        try await until { bench.service.status.retrying > 0 }
        try await bench.passTime { receipts.allSatisfy { $0.word != "open" } }
        let ends = bench.log.events.compactMap { Int($0.dropFirst(2)) }
        // The last run of each message.
        let last = ends.indices.filter { !ends[($0 + 1)...].contains(ends[$0]) }.map { ends[$0] }
        if isBlocking { #expect(last == Array(1...26)) }
        #expect(last.filter { $0 > 20 } == Array(21...26) && last.filter { $0 <= 20 } == Array(1...20))
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("a burst that causes nothing passes after two pauses, also from the disk", arguments: [true, false])
    func burst(isDurable: Bool) async throws {
        let settings = ServiceSettings.with { if isDurable { $0.messages = 16 } }
        let bench = ServiceBench(inbox: Self.inbox(isDurable), settings: settings, isPaced: true)
        let (receipts, run) = try await Self.paced(bench, Self.letters(1...400))
        try await bench.passTime { receipts.allSatisfy { $0.word != "open" } }
        #expect(bench.log.events == Self.handled(1...400))
        #expect(bench.clock.now <= .seconds(60), "at its pace, they take 38 minutes")
        #expect(try await bench.close(run) == DrainReport())
    }

    // MARK: The newest

    @Test("beyond its pace the newest change of an object takes the lane's place", arguments: [true, false])
    func newest(isDurable: Bool) async throws {
        let inbox = SpyInbox()
        let bench = ServiceBench(inbox: isDurable ? inbox : InMemoryInbox(), isPaced: true)
        let (receipts, run) = try await Self.paced(bench, Self.changes(1...25))
        try await bench.passTime { receipts.allSatisfy { $0.word != "open" } }
        #expect(bench.log.events == Self.handled(1...20) + ["r 25"])
        let superseded = Array(repeating: "superseded", count: 4)
        #expect(receipts.map(\.word) == Array(repeating: "handled", count: 20) + superseded + ["handled"])
        #expect(bench.receiver.metrics.nonzero == ["handled: 21", "superseded: 4"])
        #expect(inbox.disk.isEmpty && bench.letters.count == 0)
        #expect(Self.waiting(bench) == 0)
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("an object's lane that never comes to rest is handled at the floor, the newest each time")
    func loop() async throws {
        let intakes = Mutex<PushIntake?>(nil)
        let number = Atomic<Int>(100)
        let (bench, intake, run) = await ServiceBench(isPaced: true) { _, _ in
            // A loop: each message causes one.
            let next = number.add(1, ordering: .relaxed).newValue
            if next < 400 { _ = try? intakes.withLock { $0 }?.submit([ServiceBench.payload(next)]) }
        }.opened()
        intakes.withLock { $0 = intake }
        _ = try intake.submit(Self.changes(1...5))
        try await bench.passTime { bench.clock.now >= .seconds(600) }
        #expect(bench.log.events.count < 160 && bench.log.events.count > 60, "\(bench.log.events.count)")
        intakes.withLock { $0 = nil }
        try await bench.passTime { bench.service.status.messages == 0 }
        #expect(try await bench.close(run) == DrainReport())
        #expect(Self.waiting(bench) == 0)
    }

    // MARK: While it waits

    @Test("what is killed while it waits is dead-lettered at its turn, and can be replayed", arguments: [true, false])
    func killed(isDurable: Bool) async throws {
        let inbox = SpyInbox()
        let bench = ServiceBench(inbox: isDurable ? inbox : InMemoryInbox(), isPaced: true)
        let (receipts, run) = try await Self.paced(bench, Self.letters(1...23))
        bench.loopGuard.kill(.route("r"), for: .seconds(600))
        #expect(receipts[20].word == "open")
        try await bench.passTime { receipts.allSatisfy { $0.word != "open" } }
        let killed = Array(repeating: "deadLettered (killSwitch)", count: 3)
        #expect(receipts.map(\.word) == Array(repeating: "handled", count: 20) + killed)
        #expect(bench.letters.letters().map(\.routes) == [["r"], ["r"], ["r"]] && inbox.disk.isEmpty)
        #expect(Self.waiting(bench) == 0)
        bench.loopGuard.revive(.route("r"))
        for letter in bench.letters.letters() { #expect(await bench.service.replay(letter).name == "handled") }
        #expect(bench.letters.count == 0 && bench.log.events == Self.handled(1...23))
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("what has failed and is killed before it is tried again is dead-lettered, and what no route takes is not")
    func killedBetweenAttempts() async throws {
        let bench = ServiceBench(routes: [], inbox: SpyInbox())
        bench.receiver.onPushToApp(id: "r") { event, _ in
            bench.log.add("r \(event.message.number)")
            throw TestError()
        }
        let (intake, run) = await bench.open()
        let receipt = try intake.submit([ServiceBench.payload(1)])[0]
        try await until { bench.service.status.retrying == 1 }
        bench.loopGuard.kill(.everything, for: .seconds(60))
        try await bench.passTime { receipt.word != "open" }
        #expect(receipt.word == "deadLettered (killSwitch)" && bench.log.events == ["r 1"])
        #expect(await intake.takeAndWait(ServiceBench.topic(2, "t", sender: nil)) == "looped (killSwitch)")
        #expect(bench.letters.count == 1)
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("of two routes one of which is killed while it waits, the other one gets the message at its turn")
    func oneRouteKilled() async throws {
        let bench = ServiceBench(routes: [("a", nil), ("b", nil)], isPaced: true)
        let (receipts, run) = try await Self.paced(bench, Self.letters(1...21))
        bench.loopGuard.kill(.route("a"), for: .seconds(600))
        try await bench.passTime { receipts[20].word != "open" }
        #expect(receipts[20].word == "handled" && bench.log.events.last == "b 21")
        #expect(!bench.log.events.contains("a 21"))
        #expect(bench.letters.letters().map(\.routes) == [["a"]])
        #expect(Self.waiting(bench) == 0)
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test(
        "a route that was off when a message came is not in its dead letter when the others are switched off, too",
        arguments: [KillTarget.route("b"), .everything])
    func killedInTwoSteps(target: KillTarget) async throws {
        let bench = ServiceBench(routes: [("a", nil), ("b", nil)], isPaced: true)
        bench.loopGuard.kill(.route("a"), for: .seconds(600))
        let (receipts, run) = try await Self.paced(bench, Self.letters(1...21))
        bench.loopGuard.kill(target, for: .seconds(600))
        try await bench.passTime { receipts[20].word != "open" }
        #expect(receipts[20].word == "deadLettered (killSwitch)")
        #expect(bench.letters.letters().map(\.routes) == [["b"]])
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("a copy of a message that waits waits behind it, and is a duplicate of it then")
    func copy() async throws {
        let bench = ServiceBench(isPaced: true)
        let (receipts, run) = try await Self.paced(bench, Self.letters(1...21) + Self.letters(21...22))
        try await bench.passTime { receipts.allSatisfy { $0.word != "open" } }
        #expect(receipts.suffix(3).map(\.word) == ["handled", "duplicate (done)", "handled"])
        #expect(bench.log.events == Self.handled(1...22) && Self.waiting(bench) == 0)
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("what has waited for its pace and fails then is tried again, and is not asked again")
    func fails() async throws {
        let bench = ServiceBench(isPaced: true) { message, context in
            if message.number == 21, context.attempt < 3 { throw TestError() }
        }
        let traces = TraceLog()
        bench.receiver.onTrace { traces.add($0) }
        let (receipts, run) = try await Self.paced(bench, Self.letters(1...22))
        try await bench.passTime { bench.service.status.retrying == 1 }
        #expect(bench.service.status.paced == 0)
        try await bench.passTime { receipts.allSatisfy { $0.word != "open" } }
        #expect(bench.log.events == Self.handled(1...21) + ["r 21", "r 21", "r 22"])
        let ofIt = traces.traces.filter { $0.message?.number == 21 }
        #expect(ofIt.map(\.outcome.name) == ["paced", "handled"])
        #expect(ofIt.last?.calls.map(\.attempt) == [1, 2, 3])
        #expect(Self.waiting(bench) == 0)
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("new rules are followed by what waits: its routes are looked up when its turn comes")
    func reload() async throws {
        let bench = ServiceBench(routes: [], isPaced: true)
        let log = bench.log
        let rules = { (handler: String) in
            try RoutingRules(#"{"version":1,"rules":[{"id":"a","then":{"handler":"\#(handler)"},"pace":"6s"}]}"#)
        }
        for name in ["first", "second"] {
            bench.receiver.register(name) { message, _ in log.add("\(name) \(message.number)") }
        }
        let traces = TraceLog()
        bench.receiver.onTrace { traces.add($0) }
        try bench.receiver.load(rules("first"))
        let (receipts, run) = try await Self.paced(bench, Self.letters(1...22))
        try bench.receiver.load(rules("second"))
        try await bench.passTime { receipts.allSatisfy { $0.word != "open" } }
        #expect(log.events == (1...20).map { "first \($0)" } + ["second 21", "second 22"])
        #expect(traces.traces.last?.generation == 2)
        #expect(Self.waiting(bench) == 0)
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("rules that lift a pace leave nobody counted as waiting")
    func lifted() async throws {
        let bench = ServiceBench(routes: [], isPaced: true)
        let rules = { (pace: String) in
            try RoutingRules(#"{"version":1,"rules":[{"id":"a","then":{"handler":"h"},"pace":"\#(pace)"}]}"#)
        }
        bench.receiver.register("h") { _, _ in }
        try bench.receiver.load(rules("6s"))
        let (receipts, run) = try await Self.paced(bench, Self.letters(1...30))
        try bench.receiver.load(rules("unlimited"))
        try await bench.passTime { receipts.allSatisfy { $0.word != "open" } }
        #expect(receipts.allSatisfy { $0.word == "handled" } && Self.waiting(bench) == 0)
        #expect(bench.loopGuard.paced.isEmpty)
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("what a killed route has missed is kept until the dead letters have room for it")
    func killedWithoutRoom() async throws {
        let letters = try InMemoryDeadLetterStore.full()
        let bench = ServiceBench(
            routes: [("a", nil), ("b", nil)], inbox: SpyInbox(), isPaced: true, letters: letters)
        let (receipts, run) = try await Self.paced(bench, Self.letters(1...21))
        bench.loopGuard.kill(.route("a"), for: .seconds(864_000))
        try await bench.passTime { bench.log.events.last == "b 21" }
        try await bench.passTime { bench.told.events.contains { $0.hasPrefix("storeFailed") } }
        letters.remove(1)
        try await bench.passTime { receipts[20].word != "open" }
        #expect(letters.letters().map(\.routes) == [["a"]] && bench.log.events.count { $0 == "b 21" } == 1)
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("a replayed letter passes while its key is paced, and takes no turn")
    func replay() async throws {
        let bench = ServiceBench(isPaced: true)
        let (receipts, run) = try await Self.paced(bench, Self.letters(1...21))
        let letter = try bench.addLetter(Self.letters(99...99)[0])
        #expect(await bench.service.replay(letter).name == "handled")
        #expect(bench.service.status.paced == 1 && bench.clock.now == .seconds(0))
        try await bench.passTime { receipts[20].word == "handled" }
        #expect(bench.log.events == Self.handled(1...20) + ["r 99", "r 21"])
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("what is too old when its turn comes has expired")
    func expired() async throws {
        let bench = ServiceBench(delivery: .with { $0.maxAge = .seconds(5) }, isPaced: true)
        let (receipts, run) = try await Self.paced(bench, Self.letters(1...30))
        try await bench.passTime { receipts.allSatisfy { $0.word != "open" } }
        #expect(
            receipts.map(\.word)
                == Array(repeating: "handled", count: 20) + Array(repeating: "expired", count: 10))
        #expect(Self.waiting(bench) == 0)
        #expect(try await bench.close(run) == DrainReport())
    }

    /// Names a time that is over, four times of five.
    private final class Stale: Middleware {
        let asked = Atomic<Int>(0)

        func admit(_ message: inout RoutedMessage) -> Verdict {
            asked.add(1, ordering: .relaxed).newValue % 5 == 0 ? .pass : .later(until: .seconds(-5))
        }
    }

    @Test("a middleware that names a time which is over is asked again after a millisecond, not without end")
    func staleTime() throws {
        let (clock, stale) = (ManualClock(), Stale())
        let receiver = PushReceiver(clock: clock) { stale }
        receiver.onAny(id: "r") { _, _ in }
        let test = try TestService(receiver)
        let receipt = try test.send(ServiceBench.payload(1))
        #expect(receipt.outcome == nil && stale.asked.load(ordering: .relaxed) == 1)
        test.advance(by: .milliseconds(4))
        #expect(receipt.outcome?.name == "handled" && stale.asked.load(ordering: .relaxed) == 5)
        try test.stop()
    }

    // MARK: The end

    @Test("a service that stops leaves what waits, and the next one handles it, in order", arguments: [true, false])
    func stopped(isCrash: Bool) async throws {
        let inbox = SpyInbox()
        let (bench, intake, run) = await ServiceBench(inbox: inbox, isPaced: true).opened()
        let receipts = try intake.submit(Self.letters(1...25))
        try await until { bench.service.status.paced == 1 && inbox.disk.numbers == [21, 22, 23, 24, 25] }
        if isCrash { inbox.crash() }
        run.cancel()
        let report = try await run.value
        #expect(report.left == 5 && inbox.disk.inFlight == [])
        #expect(receipts.map(\.word) == Array(repeating: "handled", count: 20) + Array(repeating: "left", count: 5))
        #expect(Self.waiting(bench) == 0, "the guard outlives the service")
        let next = ServiceBench(inbox: SpyInbox(inbox.disk), isPaced: true)
        let (_, again) = await next.open()
        try await next.calls(5)
        #expect(try await next.close(again) == DrainReport())
        #expect(next.log.events == Self.handled(21...25) && inbox.disk.isEmpty)
    }

    @Test(
        "however messages end, none of them is counted as waiting afterwards",
        arguments: [true, false], 1...6 as ClosedRange<UInt64>)
    func nobodyWaits(isDurable: Bool, seed: UInt64) async throws {
        var dice = SeededGenerator(seed: seed)
        var delivery = DeliverySettings()
        (delivery.attempts, delivery.backoff, delivery.maxAge) = (2, .milliseconds(50), .seconds(60))
        delivery.replacesOlder = seed % 2 == 0
        var settings = ServiceSettings()
        settings.messages = isDurable ? 30 : 1000
        settings.messagesOnDisk = seed % 3 == 0 ? 100 : 1000
        let (bench, intake, run) = await ServiceBench(
            routes: [("a", nil), ("b", nil)], inbox: Self.inbox(isDurable), settings: settings, delivery: delivery,
            isPaced: true
        ) { message, context in
            if message.number % 7 == 0, context.route == "b" { throw TestError() }
            if message.number % 11 == 0 { _ = try context.willCreate(in: KiiBucket(scope: .app, name: "settings")) }
        }.opened()
        var receipts: [Receipt] = []
        for number in 1...300 {
            let object = Int(dice.next() % 4)
            let of = dice.next() % 5 == 0 ? max(1, number - 3) : number
            let payload =
                dice.next() % 2 == 0
                ? ServiceBench.payload(of, "o\(object)") : ServiceBench.topic(of, "t\(object)", sender: "U")
            receipts += (try? intake.submit([payload])) ?? []
            if number % 20 == 0 {
                for _ in 0..<50 { await Task.yield() }
                bench.clock.advance(by: .milliseconds(Int64(dice.next() % 4000)))
            }
            if number == 150 { bench.loopGuard.kill(.route("a"), for: .seconds(5)) }
        }
        try await bench.passTime { receipts.allSatisfy { $0.word != "open" } }
        #expect(Self.waiting(bench) == 0, "\(bench.loopGuard.paced)")
        #expect(try await bench.close(run) == DrainReport())
    }
}
