import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushDelivery
@testable import KiiPushTestSupport

/// An inbox that fails, and what an earlier process left in it.
@Suite(.oneByOne, .timeLimit(.minutes(5)))
struct ServiceInboxTests {
    /// Twelve messages, of which one fails once and one always.
    private static func act(_ message: PushMessage, _ context: HandlerContext) throws {
        if message.number == 3, context.attempt == 1 { throw TestError() }
        if message.number == 5 { throw TestError() }
    }

    private static let payloads = (1...12).map { ServiceBench.payload($0, "o\($0 % 3)") }

    @Test("whichever call to the inbox fails, nothing is lost and nothing done twice", arguments: [1, 3])
    func failsOnce(inARow: Int) async throws {
        var call = 2
        var isOver = false
        while !isOver {
            let inbox = SpyInbox()
            let failing = call..<(call + inARow)
            inbox.fail { number, _ in failing.contains(number) }
            let bench = ServiceBench(inbox: inbox, delivery: .with { $0.attempts = 2 }) { try Self.act($0, $1) }
            let (intake, run) = await bench.open()
            var receipts: [Receipt] = []
            for payload in Self.payloads {
                var refusals = 0
                while true {
                    do throws(IntakeRefusal) {
                        receipts += try intake.submit([payload])
                        break
                    } catch .failed {
                        refusals += 1
                    } catch { return }
                }
                #expect(refusals <= inARow)
            }
            try await bench.passTime { receipts.allSatisfy { $0.word != "open" } }
            #expect(receipts.count { $0.word == "handled" } == 11)
            #expect(receipts[4].word == "deadLettered (failed)")
            #expect(inbox.disk.numbers == [])
            #expect(bench.receiver.metrics.nonzero == ["handled: 11", "deadLettered failed: 1"])
            #expect(bench.log.events.count == 14, "no handler ran more often than it had to")
            isOver = inbox.count < call
            #expect(isOver || bench.told.events.contains { $0.hasPrefix("storeFailed") })
            #expect(try await bench.close(run) == DrainReport())
            #expect(bench.service.status == ServiceStatus())
            call += 1
        }
        #expect(call > 30)
    }

    @Test("an inbox that cannot be read ends the run with its error, and loses nothing")
    func cannotBeRead() async throws {
        let inbox = SpyInbox()
        _ = try inbox.add(Self.payloads)
        inbox.fail { _, what in what == "entries" }
        let bench = ServiceBench(inbox: inbox)
        await #expect(throws: SpyInbox.Failed.self) { try await bench.service.run() }
        #expect(inbox.disk.numbers.count == 12)
        await #expect(throws: ServiceUsed.self) { try await bench.service.run() }
    }

    @Test("an inbox that stays sick keeps nobody from stopping, and the rows from nothing")
    func sickAtTheEnd() async throws {
        let inbox = SpyInbox()
        let (bench, intake, run) = await ServiceBench(inbox: inbox).opened()
        inbox.fail { _, what in !what.hasPrefix("add") }
        let receipts = try intake.submit(Self.payloads)
        try await until { bench.told.events.count { $0.hasPrefix("storeFailed") } >= 3 }
        run.cancel()
        try await bench.passTime { receipts.allSatisfy { $0.word != "open" } }
        let report = try await run.value
        #expect(report.left == 12 && report.finished == 0)
        #expect(receipts.allSatisfy { $0.word == "left" })
        #expect(inbox.disk.numbers.count == 12)
        let count = inbox.count
        for _ in 0..<100 { await Task.yield() }
        #expect(inbox.count == count, "nothing is written any more")
        #expect(bench.clock.now <= .seconds(16))
    }

    @Test("the end of a message and the beginning of the next are one step, and nothing is begun before it is done")
    func oneStep() async throws {
        let inbox = SpyInbox()
        let isSick = Flag()
        inbox.fail { _, what in what.hasPrefix("ended 1,") && !isSick.isSet }
        let gate = Gate()
        let bench = ServiceBench(inbox: inbox, settings: .with { $0.concurrency = 1 }) { message, _ in
            if message.number == 1 { await gate.wait() }
        }
        let (intake, run) = await bench.open()
        let receipts = try intake.submit((1...3).map { ServiceBench.payload($0, "o\($0)") })
        try await bench.calls(1)
        gate.open()
        try await until { bench.told.events.count >= 1 }
        #expect(bench.log.events == ["r 1"] && inbox.disk.inFlight == [1])
        #expect(receipts.allSatisfy { $0.word == "open" })
        isSick.set()
        try await bench.passTime { receipts.allSatisfy { $0.word == "handled" } }
        #expect(
            inbox.log.events.filter { !$0.hasSuffix("?") } == [
                "entries", "add 3", "begun 1 (1)", "ended 1, begun 2 (1)", "ended 2, begun 3 (1)", "ended 3",
            ])
        #expect(bench.log.events == ["r 1", "r 2", "r 3"])
        #expect(try await bench.close(run) == DrainReport())
        #expect(bench.service.status == ServiceStatus())
    }

    @Test("a letter names the payload that it is of, where the inbox is durable", arguments: [true, false])
    func letterOfPayload(isDurable: Bool) async throws {
        let letters = NamingLetters()
        let inbox: any Inbox = isDurable ? SpyInbox() : InMemoryInbox()
        let receiver = PushReceiver(deadLetters: letters) { ScopeFilter() }
        receiver.onAny(id: "r") { _, _ in throw TestError() }
        let transport = HandTransport()
        let service = PushService(
            receiver, [transport], inbox: inbox, delivery: .with { $0.attempts = 1 }, executor: OwnThreads.executor)
        let run = OwnThreads.start { try await service.run() }
        let intake = await transport.intake()
        let receipts = try intake.submit([ServiceBench.payload(1), RawPayload("{"), ServiceBench.payload(2, "p")])
        for receipt in receipts { _ = await receipt.end() }
        transport.finish()
        _ = try await run.value
        // The second is no message, and never was in the inbox.
        #expect(Set(letters.named) == (isDurable ? [nil, 1, 2] : [nil]) && letters.named.count == 3)
    }

    // MARK: Recovery

    /// Rows as an earlier process left them.
    private static func disk(_ count: Int, _ change: (SpyInbox) async throws -> Void) async throws -> SpyInbox.Disk {
        let inbox = SpyInbox()
        _ = try inbox.add((1...count).map { ServiceBench.payload($0, "o\($0 % 2)") })
        try await change(inbox)
        return inbox.disk
    }

    @Test("what is left is handled in its order, without the routes that are done, and before anything new")
    func leftOver() async throws {
        let disk = try await Self.disk(6) { inbox in
            try await inbox.record(.begun(2, attempt: 1))
            try await inbox.record(.failed(2, handled: ["a"]))
            try await inbox.record(.begun(5, attempt: 3))
        }
        let inbox = SpyInbox(disk)
        let attempts = EventLog()
        let bench = ServiceBench(routes: [("a", nil), ("b", nil)], inbox: inbox) { message, context in
            attempts.add("\(message.number) \(context.attempt)")
        }
        let (intake, run) = await bench.open()
        let receipt = try intake.submit([ServiceBench.payload(8, "o0")])[0]
        #expect(await receipt.end()?.name == "handled")
        #expect(bench.log.events.prefix(2) == ["a 5", "b 5"], "what was in flight first")
        try await until { disk.numbers.isEmpty }
        for lane in 0...1 {
            let events = bench.log.events.filter { (Int($0.dropFirst(2)) ?? 0) % 2 == lane }
            #expect(
                events
                    == (lane == 0
                        ? ["b 2", "a 4", "b 4", "a 6", "b 6", "a 8", "b 8"]
                        : ["a 5", "b 5", "a 1", "b 1", "a 3", "b 3"]))
        }
        #expect(attempts.events.contains("2 2") && attempts.events.contains("5 4"))
        #expect(try await bench.close(run) == DrainReport())
        #expect(bench.receiver.metrics.nonzero == ["handled: 7"])
    }

    @Test("what was in flight is tried one at a time before anything else, and again beside others")
    func suspectsAlone() async throws {
        let disk = try await Self.disk(8) { inbox in
            for id in [2, 3, 6] as [UInt64] { try await inbox.record(.begun(id, attempt: 1)) }
        }
        let inbox = SpyInbox(disk)
        let running = Mutex<Set<Int>>([])
        let log = EventLog()
        let (bench, intake, run) = await ServiceBench(inbox: inbox) { message, context in
            let others = running.withLock { running in
                running.insert(message.number)
                return running.count - 1
            }
            for _ in 0..<10 { await Task.yield() }
            log.add("\(message.number) \(context.attempt) \(others)")
            running.withLock { _ = $0.remove(message.number) }
            if message.number == 3, context.attempt < 4 { throw TestError() }
        }.opened()
        _ = try intake.submit((9...12).map { ServiceBench.payload($0, "o\($0)") })
        try await bench.passTime { disk.numbers.isEmpty }
        #expect(log.events.prefix(3) == ["2 2 0", "3 2 0", "6 2 0"])
        #expect(log.events.compactMap { $0.hasPrefix("3 ") ? $0.prefix(3) : nil } == ["3 2", "3 3", "3 4"])
        #expect(log.events.contains { !$0.hasSuffix(" 0") }, "the others ran side by side")
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test(
        "what was in flight and hangs or fails keeps nothing new out, and others from their turn by one attempt only",
        arguments: [true, false])
    func suspectsHang(hangs: Bool) async throws {
        let disk = try await Self.disk(4) { inbox in
            for id in [1, 2] as [UInt64] { try await inbox.record(.begun(id, attempt: 1)) }
        }
        let delivery = DeliverySettings.with { ($0.timeout, $0.attempts) = (.seconds(60), 5) }
        let (clock, log, gate) = (ManualClock(), EventLog(), Gate())
        let bench = ServiceBench(inbox: SpyInbox(disk), delivery: delivery, clock: clock) { message, context in
            log.add("\(message.number) \(context.attempt)")
            guard message.number <= 2 else { return }
            await gate.wait()
            if hangs { try await clock.sleep(until: clock.now.advanced(by: .seconds(86_400))) }
            throw TestError()
        }
        let (intake, run) = await bench.open()
        #expect(clock.now == .seconds(0) && bench.service.status.isOpen)
        let receipt = try intake.submit([ServiceBench.payload(9, "o9")])[0]
        try await bench.calls(1)
        #expect(log.events == ["1 2"], "alone, whatever waits")
        #expect(bench.service.status.waiting == 4 && bench.service.status.recovering == 2)
        #expect(bench.told.events.last == "recovering(messages: 2)")
        gate.open()
        try await bench.passTime { receipt.word == "handled" }
        #expect(bench.service.status.recovering == 0)
        #expect(clock.now < .seconds(hangs ? 130 : 1), "one attempt of each, not all")
        try await bench.passTime { disk.numbers.isEmpty }
        #expect(log.events.prefix(2) == ["1 2", "2 2"])
        for number in 1...2 { #expect(log.events.filter { $0.hasPrefix("\(number) ") }.count == 4) }
        #expect(bench.letters.letters().map(\.reason) == [.failed, .failed])
        #expect(try await bench.close(run) == DrainReport())
        #expect(bench.service.status == ServiceStatus())
    }

    @Test("what was in flight and could not begin is still tried alone when it can, before others of its object")
    func suspectShort() async throws {
        struct Short: Error, ResourceShortage {}
        let disk = try await Self.disk(3) { inbox in
            for id in [1, 3] as [UInt64] { try await inbox.record(.begun(id, attempt: 1)) }
        }
        let log = EventLog()
        let running = Mutex(0)
        let (bench, _, run) = await ServiceBench(inbox: SpyInbox(disk)) { message, context in
            let others = running.withLock { running in
                defer { running += 1 }
                return running
            }
            defer { running.withLock { $0 -= 1 } }
            let isShort = message.number == 1 && !log.events.contains { $0.hasPrefix("1") }
            log.add("\(message.number) \(others)")
            if isShort { throw Short() }
            for _ in 0..<10 { await Task.yield() }
        }.opened()
        try await bench.passTime { disk.numbers.isEmpty }
        #expect(log.events == ["1 0", "2 0", "1 0", "3 0"])
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("a service that stops while what was in flight runs leaves the rest, and what came meanwhile")
    func stoppedInRecovery() async throws {
        let disk = try await Self.disk(4) { inbox in
            for id in [1, 2] as [UInt64] { try await inbox.record(.begun(id, attempt: 1)) }
        }
        let gate = Gate()
        let (bench, intake, run) = await ServiceBench(inbox: SpyInbox(disk)) { _, _ in await gate.wait() }.opened()
        let receipt = try intake.submit([ServiceBench.payload(9, "o9")])[0]
        try await bench.calls(1)
        run.cancel()
        gate.open()
        #expect(try await run.value == DrainReport(finished: 1, left: 4))
        #expect(receipt.word == "left" && disk.numbers == [2, 3, 4, 5])
        #expect(bench.log.events == ["r 1"])
    }

    /// How often a message was in flight at a crash, the last time alone or not, and whether it is run again.
    static let crashes: [(crashes: Int, alone: Bool, isRun: Bool)] = [
        (1, true, true), (1, false, true), (2, true, true), (3, true, true), (4, true, false), (4, false, true),
        (9, true, false), (9, false, true),
    ]

    @Test(
        "what ended the process four times, the last time alone, is dead-lettered and not run a fifth time",
        arguments: crashes)
    func quarantine(crashes: Int, alone: Bool, isRun: Bool) async throws {
        let disk = SpyInbox.Disk()
        _ = try SpyInbox(disk).add([ServiceBench.payload(1), ServiceBench.payload(2)])
        for crash in 1...crashes {
            let inbox = SpyInbox(disk)
            _ = try inbox.entries()
            try await inbox.record(.begun(1, attempt: crash))
            if !alone { try await inbox.record(.begun(2, attempt: crash)) }
        }
        let inbox = SpyInbox(disk)
        let (bench, intake, run) = await ServiceBench(inbox: inbox).opened()
        try await until { disk.numbers.isEmpty }
        #expect(bench.log.events.contains("r 1") == isRun)
        #expect(bench.letters.letters().map(\.reason) == (isRun ? [] : [.quarantined]))
        #expect(bench.letters.letters().map(\.attempts) == (isRun ? [] : [crashes]))
        #expect(bench.letters.letters().allSatisfy { $0.routes == ["r"] })
        #expect(bench.receiver.metrics.count("quarantined") == (isRun ? 0 : 1))
        #expect(await intake.takeAndWait(ServiceBench.payload(1)) == "duplicate (done)")
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("without room among the dead letters the guilty one stays in the inbox, unrun, and the others go on")
    func quarantineFull() async throws {
        let disk = SpyInbox.Disk()
        _ = try SpyInbox(disk).add([ServiceBench.payload(1), ServiceBench.payload(2)])
        for crash in 1...4 {
            let inbox = SpyInbox(disk)
            _ = try inbox.entries()
            try await inbox.record(.begun(1, attempt: crash))
        }
        for _ in 1...2 {
            let bench = ServiceBench(inbox: SpyInbox(disk), letters: InMemoryDeadLetterStore(capacity: 0))
            let (_, run) = await bench.open()
            try await until { disk.numbers == [1] }
            run.cancel()
            #expect(try await run.value == DrainReport(finished: 0, left: 1))
            #expect(!bench.log.events.contains("r 1"))
        }
        let (bench, _, run) = await ServiceBench(inbox: SpyInbox(disk)).opened()
        try await until { disk.numbers.isEmpty }
        #expect(bench.letters.letters().map(\.reason) == [.quarantined])
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("what is no message under smaller limits is dead-lettered; without room it stays", arguments: [0, 100])
    func smallerLimits(capacity: Int) async throws {
        let disk = try await Self.disk(3) { _ in }
        let limits = PayloadLimits(bytes: 20)
        let (bench, _, run) = await ServiceBench(
            inbox: SpyInbox(disk), letters: InMemoryDeadLetterStore(capacity: capacity), limits: limits
        ).opened()
        #expect(disk.numbers == (capacity == 0 ? [1, 2, 3] : []))
        #expect(
            bench.letters.letters().map(\.reason) == (capacity == 0 ? [] : [.undecodable, .undecodable, .undecodable]))
        #expect(bench.service.status.messages == 0)
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("more than fits is handled all the same, and what is new waits on disk if it fits", arguments: [200, 20])
    func moreThanFits(onDisk: Int) async throws {
        let settings = ServiceSettings.with { ($0.messages, $0.messagesOnDisk) = (10, onDisk) }
        let disk = try await Self.disk(100) { _ in }
        let gate = Gate()
        let bench = ServiceBench(inbox: SpyInbox(disk), settings: settings) { _, _ in await gate.wait() }
        let (intake, run) = await bench.open()
        let receipts = try onDisk > 100 ? intake.submit([ServiceBench.payload(200)]) : []
        #expect(bench.service.status.messages <= 10)
        gate.open()
        #expect(await receipts.words() == receipts.map { _ in "handled" })
        try await until { disk.numbers.isEmpty }
        #expect(bench.log.events.count == 100 + receipts.count)
        #expect(try await bench.close(run) == DrainReport())
    }
}

/// Takes down which payloads the letters are of.
private final class NamingLetters: DeadLetterStore {
    private let state = Mutex<[UInt64?]>([])

    var named: [UInt64?] { state.withLock { $0 } }
    func add(_ letter: DeadLetter) -> UInt64 {
        state.withLock { state in
            state.append(letter.inboxID)
            return UInt64(state.count)
        }
    }
    func letters() -> [DeadLetter] { [] }
    func remove(_ id: UInt64) -> Bool { false }
}
