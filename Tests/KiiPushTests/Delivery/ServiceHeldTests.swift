import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushDelivery

/// What the loop guard holds, what is switched off, and copies.
@Suite(.oneByOne, .timeLimit(.minutes(1)))
struct ServiceHeldTests {
    /// A way for a held message to end.
    struct End: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let act: @Sendable (ServiceBench) async -> Void
        let end: String
        var letters: [DeadLetter.Reason] = []
    }

    static let ends = [
        End(testDescription: "its turn", act: { _ in }, end: "handled"),
        End(testDescription: "released", act: { _ = await $0.receiver.releaseHeld() }, end: "handled"),
        End(testDescription: "dropped", act: { $0.receiver.dropHeld() }, end: "looped (rate)"),
        End(
            testDescription: "its route killed", act: { $0.loopGuard.kill(.route("r"), for: .seconds(600)) },
            end: "deadLettered (killSwitch)", letters: [.killSwitch]),
        End(
            testDescription: "all killed", act: { $0.loopGuard.setKills([.everything: .seconds(600)]) },
            end: "deadLettered (killSwitch)", letters: [.killSwitch]),
    ]

    @Test(
        "a held message ends once, in the metrics, in the inbox and for its transport", arguments: ends, [true, false])
    func end(end: End, isDurable: Bool) async throws {
        let inbox = SpyInbox()
        let bench = ServiceBench(inbox: isDurable ? inbox : InMemoryInbox(), rate: 1)
        let (intake, run) = await bench.open()
        #expect(await intake.takeAndWait(ServiceBench.payload(1)) == "handled")
        let receipts = try intake.submit([ServiceBench.payload(2), ServiceBench.payload(3, "x")])
        try await until { bench.service.status.held == 1 && receipts[1].word == "handled" }
        #expect(bench.receiver.metrics.nonzero == ["handled: 2", "held rate: 1"])
        #expect(inbox.disk.numbers == (isDurable ? [2] : []))
        let waiter = EndLog(bench.receiver.held)
        await end.act(bench)
        try await bench.passTime { receipts[0].word != "open" }
        #expect(receipts[0].word == end.end)
        #expect(await waiter.ends() == ["2: \(end.end)"])
        #expect(bench.letters.letters().map(\.reason) == end.letters)
        #expect(bench.letters.letters().allSatisfy { $0.routes == ["r"] })
        try await until { bench.service.status == ServiceStatus(isOpen: true) }
        #expect(bench.receiver.metrics.received == 3 && bench.receiver.metrics.count("held") == 0)
        #expect(inbox.disk.numbers == [])
        bench.loopGuard.revive(.route("r"))
        bench.loopGuard.setKills([:])
        #expect(await intake.takeAndWait(ServiceBench.payload(2)) == "duplicate (done)")
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test(
        "a copy of a held message is accepted where the first one lies on disk, else to come again",
        arguments: [true, false])
    func copyOfHeld(isDurable: Bool) async throws {
        let bench = ServiceBench(inbox: isDurable ? SpyInbox() : InMemoryInbox(), rate: 1)
        let (intake, run) = await bench.open()
        #expect(await intake.takeAndWait(ServiceBench.payload(1)) == "handled")
        _ = try intake.submit([ServiceBench.payload(2)])
        try await until { bench.service.status.held == 1 }
        let end = try await intake.submitWaiting(ServiceBench.payload(2)).end()
        #expect(end?.description == "duplicate (inFlight)")
        #expect(end?.disposition == (isDurable ? .accept : .retryLater))
        bench.transport.finish()
        #expect(try await run.value.left == 1)
    }

    @Test("a held message whose handler fails is tried again, under the same lease", arguments: ["turn", "released"])
    func heldFails(way: String) async throws {
        let inbox = SpyInbox()
        let fails = Atomic<Int>(2)
        let bench = ServiceBench(routes: [("a", nil), ("b", nil)], inbox: inbox, rate: 1) { message, context in
            guard message.number == 2, context.route == "b" else { return }
            if fails.subtract(1, ordering: .relaxed).oldValue > 0 { throw TestError() }
        }
        let traces = TraceLog()
        bench.receiver.onTrace { traces.add($0) }
        let (intake, run) = await bench.open()
        #expect(await intake.takeAndWait(ServiceBench.payload(1)) == "handled")
        let receipt = try intake.submit([ServiceBench.payload(2)])[0]
        try await until { bench.service.status.held == 1 }
        if way == "released" { #expect(await bench.receiver.releaseHeld().map(\.description) == ["failed (b)"]) }
        try await bench.passTime { bench.log.events.contains("b 2") }
        try await until { bench.service.status.retrying == 1 }
        #expect(bench.receiver.metrics.received == 1, "it has no outcome meanwhile")
        // In its turn it has its lane, in which the copy waits behind it; released by somebody, it has not.
        let copy = try intake.submit([ServiceBench.payload(2)])[0]
        if way == "released" { #expect(await copy.end()?.description == "duplicate (inFlight)") }
        try await bench.passTime { receipt.word != "open" && copy.word != "open" }
        #expect(receipt.word == "handled")
        let repeated = way == "released" ? "inFlight" : "done"
        #expect(copy.word == "duplicate (\(repeated))")
        #expect(bench.log.events == ["a 1", "b 1", "a 2", "b 2", "b 2", "b 2"])
        #expect(inbox.disk.numbers == [])
        let ofSecond = inbox.log.events.filter { $0.contains(" 2") }
        #expect(
            ofSecond == ["begun 2 (1)", "failed 2 [a]", "begun 2 (2)", "failed 2 [a]", "begun 2 (3)", "ended 2"])
        #expect(traces.traces.filter { $0.messageID == 2 }.map { "\($0.outcome)" } == ["held (rate)", "handled"])
        #expect(bench.receiver.metrics.nonzero == ["handled: 2", "duplicate \(repeated): 1"])
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("what one route has handled and another one holds keeps its row until its end", arguments: [true, false])
    func remainder(fails: Bool) async throws {
        let inbox = SpyInbox()
        let isFailing = Flag()
        if fails { isFailing.set() }
        let bench = ServiceBench(routes: [], inbox: inbox)
        let log = bench.log
        bench.receiver.onAny("free", options: RouteOptions(then: .continue, loop: RouteLoopPolicy(rate: .unlimited))) {
            message, _ in
            log.add("free \(message.number)")
        }
        bench.receiver.onAny("slow", options: RouteOptions(loop: RouteLoopPolicy(rate: .own(LoopRate(messages: 1))))) {
            message, _ in
            log.add("slow \(message.number)")
            if message.number == 2, isFailing.isSet { throw TestError() }
        }
        bench.loopGuard.settings = .standard
        let (intake, run) = await bench.open()
        #expect(await intake.takeAndWait(ServiceBench.payload(1)) == "handled")
        #expect(await intake.takeAndWait(ServiceBench.payload(2)) == "handled")
        try await until { bench.service.status.held == 1 }
        #expect(inbox.disk.numbers == [2] && inbox.disk.inFlight == [])
        #expect(inbox.disk.rows[2]?.handled == ["free"])
        try await bench.passTime { inbox.disk.numbers.isEmpty || bench.service.status.retrying == 1 }
        isFailing.clear()
        try await bench.passTime { inbox.disk.numbers.isEmpty }
        #expect(log.events == ["free 1", "slow 1", "free 2", "slow 2"] + (fails ? ["slow 2"] : []))
        #expect(bench.receiver.metrics.nonzero == ["handled: 2"])
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("a remainder goes on after a crash, and only for its own route", arguments: ["held", "settled", "noted"])
    func remainderAfterCrash(moment: String) async throws {
        let inbox = SpyInbox()
        // As a store that outlives the process; what was not settled then is forgotten.
        let store = InMemorySeenStore()
        func make(_ inbox: SpyInbox, _ clock: ManualClock) -> ServiceBench {
            let bench = ServiceBench(routes: [], inbox: inbox, store: store, clock: clock)
            let log = bench.log
            bench.receiver.onAny(
                "free", options: RouteOptions(then: .continue, loop: RouteLoopPolicy(rate: .unlimited))
            ) { message, _ in
                log.add("free \(message.number)")
            }
            bench.receiver.onAny(
                "slow", options: RouteOptions(loop: RouteLoopPolicy(rate: .own(LoopRate(messages: 1))))
            ) { message, _ in
                log.add("slow \(message.number)")
            }
            bench.loopGuard.settings = .standard
            return bench
        }
        let first = make(inbox, ManualClock())
        let (intake, run) = await first.open()
        #expect(await intake.takeAndWait(ServiceBench.payload(1)) == "handled")
        _ = try intake.submit([ServiceBench.payload(2)])
        try await until { first.service.status.held == 1 }
        inbox.crash()
        run.cancel()
        _ = try await run.value
        let second = make(SpyInbox(inbox.disk), ManualClock())
        let (_, again) = await second.open()
        try await second.passTime { inbox.disk.numbers.isEmpty }
        #expect(second.log.events == ["slow 2"])
        #expect(try await second.close(again) == DrainReport())
        #expect(second.receiver.metrics.received == 1)
    }

    @Test("without room to hold it, nor among the dead letters, a durable inbox keeps it", arguments: [true, false])
    func noRoomToHold(isRemainder: Bool) async throws {
        let inbox = SpyInbox()
        let letters = InMemoryDeadLetterStore(capacity: 1)
        let filler = try letters.add(
            DeadLetter(payload: RawPayload("x"), reason: .undecodable, routes: [], arrivedAt: .init(nanoseconds: 0)))
        let bench = ServiceBench(routes: [], inbox: inbox, letters: letters)
        let log = bench.log
        if isRemainder {
            bench.receiver.onAny(
                "free", options: RouteOptions(then: .continue, loop: RouteLoopPolicy(rate: .unlimited))
            ) { message, _ in
                if message.number > 101 { log.add("free \(message.number)") }
            }
        }
        bench.receiver.onAny("r", options: RouteOptions(loop: RouteLoopPolicy(rate: .own(LoopRate(messages: 1))))) {
            message, _ in
            log.add("r \(message.number)")
        }
        bench.loopGuard.settings = .standard
        bench.loopGuard.heldBudget.messagesPerKey = 100
        let (intake, run) = await bench.open()
        _ = try intake.submit((1...102).map { ServiceBench.topic($0, "t", sender: nil) })
        try await until {
            bench.service.status.held == 100 && bench.service.status.retrying + bench.service.status.onDisk == 1
        }
        #expect(inbox.disk.numbers.contains(102))
        #expect(inbox.disk.inFlight == [])
        #expect(bench.receiver.metrics.count("failed") == 0)
        letters.remove(filler)
        try await bench.passTime { !inbox.disk.numbers.contains(102) }
        #expect(letters.letters().map(\.routes) == [["r"]])
        #expect(letters.letters().map(\.reason) == [.holdLimitReached])
        try await bench.passTime { inbox.disk.numbers.isEmpty }
        #expect(log.events.filter { $0.hasPrefix("r ") } == (1...101).map { "r \($0)" })
        #expect(log.events.filter { $0 == "free 102" }.count == (isRemainder ? 1 : 0))
        #expect(bench.receiver.metrics.received == 102)
        _ = try await bench.close(run)
    }

    @Test("a held turn is in the inbox before the handler runs, and a stop while it runs leaves nothing in flight")
    func heldTurnNotes() async throws {
        let inbox = SpyInbox()
        let gate = Gate()
        let bench = ServiceBench(inbox: inbox, rate: 1) { message, _ in
            if message.number == 2 { await gate.wait() }
        }
        let (intake, run) = await bench.open()
        #expect(await intake.takeAndWait(ServiceBench.payload(1)) == "handled")
        let receipt = try intake.submit([ServiceBench.payload(2)])[0]
        try await until { bench.service.status.held == 1 }
        try await bench.passTime { bench.log.events.contains("r 2") }
        #expect(inbox.disk.inFlight == [2] && inbox.disk.rows[2]?.attempts == 1)
        run.cancel()
        try await bench.passTime { receipt.word != "open" }
        var report = DrainReport()
        (report.cancelled, report.left) = (1, 1)
        #expect(try await run.value == report)
        #expect(inbox.disk.inFlight == [] && inbox.disk.numbers == [2])
        gate.open()
        try await until { bench.service.status.overrunning == 0 }
        #expect(bench.receiver.metrics.received == 1)
    }

    // MARK: The kill switch

    @Test(
        "what was queued at a kill, or is tried again after it, is dead-lettered; what comes after it is looped"
    )
    func killed() async throws {
        let gate = Gate()
        let inbox = SpyInbox()
        let bench = ServiceBench(inbox: inbox) { message, _ in
            if message.number == 1 { await gate.wait() }
            if message.number == 9 { throw TestError() }
        }
        let (intake, run) = await bench.open()
        let receipts = try intake.submit([
            ServiceBench.payload(1), ServiceBench.payload(2), ServiceBench.payload(9, "other"),
        ])
        try await until { bench.service.status.retrying == 1 && bench.service.status.handling == 1 }
        bench.loopGuard.kill(.route("r"), for: .seconds(600))
        let late = try intake.submit([ServiceBench.payload(3)])[0]
        gate.open()
        try await bench.passTime { (receipts + [late]).allSatisfy { $0.word != "open" } }
        #expect(
            (receipts + [late]).map(\.word) == [
                "handled", "deadLettered (killSwitch)", "deadLettered (killSwitch)", "looped (killSwitch)",
            ])
        #expect(bench.letters.letters().map(\.routes) == [["r"], ["r"]])
        #expect(inbox.disk.numbers == [])
        #expect(try await bench.close(run) == DrainReport())
        #expect(bench.receiver.metrics.received == 4)
    }

    @Test(
        "one route's kill takes nothing from the others; what waited for it is dead-lettered",
        arguments: [true, false])
    func oneRouteKilled(isRetried: Bool) async throws {
        let gate = Gate()
        let isFailing = Flag()
        if isRetried { isFailing.set() }
        let bench = ServiceBench(routes: [("a", nil), ("b", nil)]) { message, context in
            if message.number == 1, context.route == "a" { await gate.wait() }
            if message.number == 2, isFailing.isSet { throw TestError() }
        }
        let (intake, run) = await bench.open()
        let receipts = try intake.submit([ServiceBench.payload(1), ServiceBench.payload(2)])
        try await bench.calls(1)
        if isRetried {
            gate.open()
            try await until { bench.service.status.retrying == 1 }
        }
        bench.loopGuard.kill(.route("a"), for: .seconds(600))
        isFailing.clear()
        gate.open()
        try await bench.passTime { receipts.allSatisfy { $0.word == "handled" } }
        #expect(bench.letters.letters().map(\.routes) == [["a"]])
        #expect(bench.letters.letters().map(\.reason) == [.killSwitch])
        #expect(bench.log.events.filter { $0 == "a 2" }.count == (isRetried ? 1 : 0))
        let late = await intake.takeAndWait(ServiceBench.payload(3))
        #expect(late == "handled")
        #expect(bench.letters.letters().count == 1, "what comes after the kill is not put aside")
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("a message that is given up is dead-lettered also for the route that holds it")
    func givenUpWithHeld() async throws {
        var delivery = DeliverySettings()
        delivery.attempts = 1
        let bench = ServiceBench(routes: [], delivery: delivery)
        bench.receiver.onAny("bad", options: RouteOptions(then: .continue, loop: RouteLoopPolicy(rate: .unlimited))) {
            message, _ in
            if message.number == 2 { throw TestError() }
        }
        bench.receiver.onAny("slow", options: RouteOptions(loop: RouteLoopPolicy(rate: .own(LoopRate(messages: 1))))) {
            _, _ in
        }
        bench.loopGuard.settings = .standard
        let (intake, run) = await bench.open()
        #expect(await intake.takeAndWait(ServiceBench.payload(1)) == "handled")
        #expect(await intake.takeAndWait(ServiceBench.payload(2)) == "deadLettered (failed)")
        #expect(bench.letters.letters().map(\.routes) == [["bad", "slow"]])
        #expect(try await bench.close(run) == DrainReport())
    }

    // MARK: Copies

    @Test("a copy of a message in flight shares its end and blocks nobody", arguments: [1, 2])
    func copies(concurrency: Int) async throws {
        var settings = ServiceSettings()
        settings.concurrency = concurrency
        var delivery = DeliverySettings()
        (delivery.order, delivery.attempts) = (.none, 2)
        let inbox = SpyInbox()
        let isFailing = Flag()
        isFailing.set()
        let bench = ServiceBench(inbox: inbox, settings: settings, delivery: delivery) { message, _ in
            if message.number == 1, isFailing.isSet { throw TestError() }
        }
        let (intake, run) = await bench.open()
        let first = try intake.submit([ServiceBench.payload(1)])[0]
        try await until { bench.service.status.retrying == 1 }
        let copies = try intake.submit([ServiceBench.payload(1), ServiceBench.payload(1), ServiceBench.payload(2)])
        #expect(await copies[2].end()?.name == "handled")
        try await until { bench.service.status.held == 2 }
        #expect(bench.receiver.metrics.nonzero == ["handled: 1"])
        isFailing.clear()
        try await bench.passTime { first.word != "open" }
        #expect(await copies.words() == ["duplicate (inFlight)", "duplicate (inFlight)", "handled"])
        #expect(copies[0].outcome?.disposition == .accept)
        #expect(bench.log.events == ["r 1", "r 2", "r 1"])
        #expect(try await bench.close(run) == DrainReport())
        #expect(inbox.disk.numbers == [])
        #expect(bench.receiver.metrics.nonzero == ["handled: 2", "duplicate inFlight: 2"])
    }

    @Test("a copy whose first is another's is left when the service stops")
    func copyOfAnothers() async throws {
        let store = InMemorySeenStore()
        let inbox = SpyInbox()
        let bench = ServiceBench(inbox: inbox, store: store)
        let keys = try PushMessage(ServiceBench.payload(1)).dedupeKeys(app: "0123abcd", secret: .published)
        guard case .fresh(let lease) = store.begin(keys, now: bench.clock.now) else { return }
        let (intake, run) = await bench.open()
        let receipt = try intake.submit([ServiceBench.payload(1)])[0]
        try await until { bench.service.status.held == 1 }
        run.cancel()
        var report = DrainReport()
        report.left = 1
        #expect(try await run.value == report)
        #expect(receipt.word == "left" && inbox.disk.numbers == [1])
        // As the other one's deduplicator does: it wakes what waits for the lease, which lets go of the service.
        Leases(store).end(lease, isRemembered: false, at: bench.clock.now, .retryLater)
    }
}

extension ServiceStatus {
    /// A status of a service with nothing on its hands.
    init(isOpen: Bool) {
        self.init()
        self.isOpen = isOpen
    }
}
