import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushDelivery
@testable import KiiPushTestSupport

/// Gaps: whom they call, and what waits for them.
@Suite(.oneByOne, .timeLimit(.minutes(5)))
struct ServiceGapTests {
    private static let lost = TransportEvent.possibleGap("forgotten", cause: .sessionLost)

    /// A bench whose handler for gaps fails as often as a test says, and writes itself down.
    private func bench(_ inbox: any Inbox, failures: Int = 0, transports: [any PushTransport] = []) -> ServiceBench {
        let bench = ServiceBench(inbox: inbox, transports: transports)
        let log = bench.log
        bench.receiver.onGap(id: "resync") { gap, context in
            log.add("\(gap.cause) of \(gap.transport ?? "any") (\(context.attempt))")
            if context.attempt <= failures { throw TestError() }
        }
        return bench
    }

    @Test("a gap is handled before new messages of its transport, however often its handler fails first")
    func first() async throws {
        let inbox = SpyInbox()
        let (bench, intake, run) = await bench(inbox, failures: 2).opened()
        intake.report(Self.lost)
        #expect(throws: IntakeRefusal.self) { try intake.submit([ServiceBench.payload(1)]) }
        let hasRoom = Flag()
        intake.whenRoom { hasRoom.set() }
        #expect(!hasRoom.isSet)
        try await bench.passTime { hasRoom.isSet }
        #expect(bench.log.events == (1...3).map { "sessionLost of hand (\($0))" })
        let receipt = try intake.submit([ServiceBench.payload(1)])[0]
        #expect(await receipt.end()?.name == "handled")
        #expect(bench.log.events.last == "r 1")
        #expect(try await bench.close(run) == DrainReport())
        #expect(inbox.disk.isEmpty)
    }

    @Test("a gap is handled whatever payloads the receiver takes, and however long its reason is")
    func bounds() throws {
        let receiver = PushReceiver(limits: PayloadLimits(bytes: 16, depth: 1, members: 0), clock: ManualClock())
        let reasons = EventLog()
        receiver.onGap { gap, _ in reasons.add(gap.reason) }
        let test = try TestService(receiver)
        let reason = String(repeating: "\u{1}", count: 100_000)
        test.service.open(Gap(.sessionLost, transport: "a", reason: reason))
        test.advance(by: .seconds(1))
        #expect(reasons.events == [String(reason.prefix(1024))] && test.service.status.gaps.isEmpty)
    }

    @Test("a gap whose handler fails for good lets messages pass, dead-lettered or not", arguments: [100, 0])
    func failed(capacity: Int) async throws {
        let bench = ServiceBench(inbox: SpyInbox(), letters: InMemoryDeadLetterStore(capacity: capacity))
        bench.receiver.onGap(id: "resync") { _, _ in throw TestError() }
        let (intake, run) = await bench.open()
        intake.report(Self.lost)
        let hasRoom = Flag()
        intake.whenRoom { hasRoom.set() }
        try await bench.passTime { hasRoom.isSet }
        #expect(bench.letters.letters().map(\.routes) == (capacity == 0 ? [] : [["resync"]]))
        #expect(await (try intake.submit([ServiceBench.payload(1)])[0]).end()?.name == "handled")
        run.cancel()
        _ = try await run.value
    }

    @Test("another transport's messages do not wait for it, but for a gap of none")
    func others() async throws {
        let isHeld = Mutex<CheckedContinuation<Void, Never>?>(nil)
        let hand = HandTransport()
        let other = ScriptedTransport(name: "other", abilities: hand.abilities) { try await hand.run($0) }
        let bench = ServiceBench(inbox: SpyInbox(), transports: [other])
        bench.receiver.onGap(id: "resync") { _, _ in
            await withCheckedContinuation { waiter in isHeld.withLock { $0 = waiter } }
        }
        let (intake, run) = await bench.open()
        let intakeOfOther = await hand.intake()
        intake.report(Self.lost)
        #expect(await (try intakeOfOther.submit([ServiceBench.payload(1)])[0]).end()?.name == "handled")
        try await until { isHeld.withLock { $0 != nil } }
        isHeld.withLock { $0.take() }?.resume()
        let hasRoom = Flag()
        intake.whenRoom { hasRoom.set() }
        try await until { hasRoom.isSet }
        bench.service.open(Gap(.stateHealed))
        for intake in [intake, intakeOfOther] {
            #expect(throws: IntakeRefusal.self) { try intake.submit([ServiceBench.payload(2)]) }
        }
        try await until { isHeld.withLock { $0 != nil } }
        isHeld.withLock { $0.take() }?.resume()
        hand.finish()
        _ = try await bench.close(run)
    }

    @Test("a gap that happens again while its handler runs is handled once more")
    func again() async throws {
        let held = Mutex<CheckedContinuation<Void, Never>?>(nil)
        let bench = ServiceBench(inbox: SpyInbox())
        let log = bench.log
        bench.receiver.onGap(id: "resync") { _, _ in
            log.add("resync")
            await withCheckedContinuation { waiter in held.withLock { $0 = waiter } }
        }
        let (intake, run) = await bench.open()
        for _ in 0..<3 { intake.report(Self.lost) }
        for _ in 0..<2 {
            try await until { held.withLock { $0 != nil } }
            #expect(throws: IntakeRefusal.self) { try intake.submit([ServiceBench.payload(1)]) }
            held.withLock { $0.take() }?.resume()
        }
        #expect(await intake.takeAndWait(ServiceBench.payload(1)) == "handled")
        #expect(bench.log.events == ["resync", "resync", "r 1"])
        _ = try await bench.close(run)
    }

    @Test("a gap that is told while the service stops is handled by the next one")
    func stopping() async throws {
        let disk = SpyInbox.Disk()
        do {
            let (bench, intake, run) = await bench(SpyInbox(disk)).opened()
            run.cancel()
            try await until { !bench.service.status.isOpen }
            intake.report(.possibleGap("not accepted", cause: .notAccepted))
            _ = try await run.value
            #expect(bench.log.events.isEmpty)
        }
        let (bench, intake, run) = await bench(SpyInbox(disk)).opened()
        #expect(await intake.takeAndWait(ServiceBench.payload(1)) == "handled")
        #expect(bench.log.events == ["notAccepted of hand (1)", "r 1"])
        _ = try await bench.close(run)
    }

    @Test("a payload behind a gap that cannot be kept is told that the service stops")
    func stoppingSick() async throws {
        let inbox = SpyInbox()
        let (bench, intake, run) = await bench(inbox).opened()
        inbox.fail { _, what in what.hasPrefix("add") }
        intake.report(Self.lost)
        run.cancel()
        try await until { !bench.service.status.isOpen && bench.service.status.gaps.count == 1 }
        _ = try await run.value
        let error = #expect(throws: IntakeRefusal.self) { try intake.submit([ServiceBench.payload(1)]) }
        #expect(error.map { "\($0)" } == "stopping")
    }

    @Test("a gap that an earlier process left is handled first, once, and a new one of its cause is not added")
    func recovered() async throws {
        let disk = SpyInbox.Disk()
        do {
            let inbox = SpyInbox(disk)
            let (bench, intake, run) = await bench(inbox, failures: 1).opened()
            intake.report(Self.lost)
            try await bench.calls(1)
            try await until { inbox.log.events.last == "failed 1 []" }
            intake.report(Self.lost)
            inbox.crash()
            run.cancel()
            _ = try await run.value
        }
        #expect(disk.numbers.count == 1)
        let (bench, intake, run) = await bench(SpyInbox(disk)).opened()
        #expect(await intake.takeAndWait(ServiceBench.payload(1)) == "handled")
        #expect(bench.log.events == ["sessionLost of hand (2)", "r 1"])
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test(
        "a gap that the inbox could not keep is kept before the next payload, or at the stop if none comes",
        arguments: [true, false])
    func unsaved(comesMore: Bool) async throws {
        let isBroken = Flag()
        isBroken.set()
        let inbox = SpyInbox { _, what in isBroken.isSet && what.hasPrefix("add") }
        let (bench, intake, run) = await bench(inbox).opened()
        intake.report(Self.lost)
        #expect(throws: IntakeRefusal.self) { try intake.submit([ServiceBench.payload(1)]) }
        isBroken.clear()
        #expect(inbox.disk.isEmpty)
        if comesMore {
            #expect(await intake.takeAndWait(ServiceBench.payload(1)) == "handled")
            #expect(bench.log.events == ["sessionLost of hand (1)", "r 1"])
        }
        run.cancel()
        _ = try await run.value
        #expect(inbox.disk.numbers.count == (comesMore ? 0 : 1))
    }

    @Test("without a route for it, and without a cause, a gap is only told")
    func onlyTold() async throws {
        let (bench, intake, run) = await ServiceBench(inbox: SpyInbox()).opened()
        intake.report(Self.lost)
        #expect(await (try intake.submit([ServiceBench.payload(1)])[0]).end()?.name == "handled")
        #expect(bench.log.events == ["r 1"])
        #expect(bench.told.events.contains { $0.contains("sessionLost") })
        _ = try await bench.close(run)
        let second = self.bench(SpyInbox())
        let (next, running) = await second.open()
        next.report(.possibleGap("a warning"))
        #expect(await (try next.submit([ServiceBench.payload(1)])[0]).end()?.name == "handled")
        #expect(second.log.events == ["r 1"])
        _ = try await second.close(running)
    }

    @Test("a dead letter that takes another's place is a gap, once until it is handled; that of a gap is none")
    func mergedLetters() async throws {
        let log = EventLog()
        let letters = InMemoryDeadLetterStore(capacity: 2)
        let bench = ServiceBench(inbox: SpyInbox(), letters: letters) { _, _ in throw TestError() }
        bench.receiver.onGap(id: "resync") { gap, _ in
            log.add(gap.cause.rawValue)
            throw TestError()
        }
        let (intake, run) = await bench.open()
        let receipts = try intake.submit((1...6).map { ServiceBench.payload($0, "o\($0)") })
        try await bench.passTime { receipts.allSatisfy { $0.word != "open" } && log.events.count >= 4 }
        try await bench.passTime { bench.service.status.messages == 0 }
        #expect(Set(log.events) == ["deadLetterReplaced"])
        #expect(log.events.count <= 12, "\(log.events.count)")
        _ = try await bench.close(run)
    }

    @Test("dead letters that are merged after a gap was handled are one more gap, a minute later or at the stop")
    func mergedLater() async throws {
        let (log, inbox) = (EventLog(), SpyInbox())
        let bench = ServiceBench(
            inbox: inbox, delivery: .with { $0.attempts = 1 }, letters: InMemoryDeadLetterStore(capacity: 2)
        ) { _, _ in throw TestError() }
        bench.receiver.onGap(id: "resync") { gap, _ in log.add(gap.cause.rawValue) }
        let (intake, run) = await bench.open()
        func fail(_ number: Int) async throws {
            _ = await (try intake.submit([ServiceBench.payload(number, "o\(number)")])[0]).end()
        }
        for number in 1...3 { try await fail(number) }
        try await until { log.events.count == 1 && bench.service.status.messages == 0 }
        let start = bench.clock.now
        try await fail(4)
        try await bench.passTime { log.events.count == 2 }
        #expect(start.duration(to: bench.clock.now) >= .seconds(59))
        try await fail(5)
        #expect(log.events.count == 2 && inbox.disk.isEmpty)
        _ = try await bench.close(run)
        #expect(inbox.disk.numbers.count == 1, "the next service tells of what was merged last")
    }

    @Test("payloads that are larger than the limit are counted, and are a gap at most once a minute, and at the stop")
    func tooLarge() async throws {
        let inbox = SpyInbox()
        let bench = ServiceBench(inbox: inbox)
        bench.receiver.onGap(id: "resync") { gap, _ in bench.log.add(gap.reason) }
        let (intake, run) = await bench.open()
        func drop(_ number: Int) { intake.drop("line \(number)", largerThan: 10, network: .mqtt) }
        drop(1)
        let first = "line 1 is larger than the limit of 10 bytes, and is lost"
        try await until { bench.log.events == [first] && bench.service.status.gaps.isEmpty }
        let start = bench.clock.now
        drop(2)
        drop(3)
        try await bench.passTime { bench.log.events.count == 2 && bench.service.status.gaps.isEmpty }
        #expect(start.duration(to: bench.clock.now) >= .seconds(59))
        let next = "2 payloads are lost; the last: line 3 is larger than the limit of 10 bytes, and is lost"
        #expect(bench.log.events == [first, next])
        #expect(bench.receiver.metrics.count("undecodable", "limitExceeded") == 3)
        drop(4)
        _ = try await bench.close(run)
        #expect(inbox.disk.numbers.count == 1, "the next service tells of the last one")
    }
}
