import Glibc
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushDelivery
@testable import KiiPushTestSupport

/// How a service stops, at whatever moment.
@Suite(.onTwoThreads, .timeLimit(.minutes(5)))
struct ServiceDrainTests {
    /// What can be seen of a stop; `settle` lets all that is left of the service run.
    private func check(
        _ bench: ServiceBench, _ inbox: SpyInbox, _ receipts: [Receipt], _ report: DrainReport,
        _ comment: Comment,
        settle: nonisolated(nonsending) () async -> Void = { for _ in 0..<20 { await Task.yield() } }
    ) async {
        let before = receipts.filter { $0.word != "left" }.count - report.finished
        #expect(before >= 0, comment)
        let open = receipts.filter { $0.word == "open" }.count
        #expect(open == 0, comment)
        let left = Set(receipts.indices.filter { receipts[$0].word == "left" }.map { UInt64($0 + 1) })
        let rows = inbox.disk.rows
        #expect(left == Set(rows.keys), comment)
        #expect(report.left == rows.count, comment)
        #expect(report.finished + before == receipts.count - left.count, comment)
        #expect(report.cancelled <= report.left, comment)
        #expect(inbox.disk.inFlight == [], comment)
        #expect(bench.receiver.metrics.received == receipts.count - left.count, comment)
        #expect(bench.service.status.handling == 0 && !bench.service.status.isOpen, comment)
        #expect(bench.loopGuard.paced.allSatisfy { $0.waiting == 0 }, comment)
        let (calls, handled) = (inbox.count, bench.log.events.count)
        await settle()
        bench.clock.advance(by: .seconds(600))
        await settle()
        #expect(inbox.count == calls, "nothing is written any more; \(comment)")
        #expect(bench.log.events.count == handled, "nothing runs any more; \(comment)")
        bench.service.state.withLock { state in
            #expect(state.room.count == 0 && state.room.lanes.count == 0, comment)
            #expect(state.room.later.isEmpty && state.runs.isEmpty, comment)
            #expect(state.waiters.isEmpty, comment)
        }
    }

    /// Messages that end in every way, and copies, and some that wait.
    private static func work(
        on executor: (any TaskExecutor)? = OwnThreads.executor
    ) -> (ServiceBench, SpyInbox) {
        let inbox = SpyInbox()
        let delivery = DeliverySettings.with { ($0.attempts, $0.replacesOlder) = (3, true) }
        let settings = ServiceSettings.with { $0.concurrency = 3 }
        let bench = ServiceBench(
            routes: [("a", nil), ("b", nil)], inbox: inbox, settings: settings, delivery: delivery, isPaced: true,
            executor: executor
        ) { message, context in
            for _ in 0..<(message.number % 4) { await Task.yield() }
            if context.route == "b", message.number % 5 == 0, context.attempt < 2 { throw TestError() }
            if message.number % 11 == 0 { throw TestError() }
        }
        return (bench, inbox)
    }

    private static func payloads() -> [RawPayload] {
        (1...40).map { ServiceBench.payload($0 > 30 ? $0 - 10 : $0, "o\($0 % 6)") }
    }

    @Test("cancelled after any number of calls to the inbox, the report adds up and the inbox has what is left")
    func cancelledAtEachCall() async throws {
        var step = 1
        var isOver = false
        while !isOver {
            let (bench, inbox) = Self.work()
            let (intake, run) = await bench.open()
            let limit = step
            inbox.fail { number, _ in
                if number == limit { run.cancel() }
                return false
            }
            var receipts: [Receipt] = []
            for payload in Self.payloads() {
                guard let receipt = try? intake.submit([payload]) else { break }
                receipts += receipt
            }
            try await bench.passTime {
                receipts.allSatisfy { $0.word != "open" } || !bench.service.status.isOpen
            }
            isOver = inbox.count < step
            run.cancel()
            try await bench.passTime { receipts.allSatisfy { $0.word != "open" } }
            let report = try await run.value
            await check(bench, inbox, receipts, report, "step \(step)")
            step += 3
        }
        #expect(step > 60)
    }

    @Test("a payload on its way into the inbox when the service stops is counted among those that are left")
    func onItsWay() async throws {
        let (isOnItsWay, mayGoOn) = (Flag(), Flag())
        let inbox = SpyInbox { _, what in
            guard what.hasPrefix("add") else { return false }
            isOnItsWay.set()
            while !mayGoOn.isSet { sched_yield() }
            return false
        }
        defer { mayGoOn.set() }
        let (_, intake, run) = await ServiceBench(inbox: inbox).opened()
        let submitted = Task.detached { try intake.submit([ServiceBench.payload(1)]) }
        try await until { isOnItsWay.isSet }
        run.cancel()
        for _ in 0..<200 { await Task.yield() }
        mayGoOn.set()
        let receipts = try await submitted.value
        #expect(try await run.value == DrainReport(finished: 0, left: 1))
        #expect(receipts.map(\.word) == ["left"])
        #expect(inbox.disk.numbers.count == 1)
    }

    /// How a run of a service has ended.
    private final class End: Sendable {
        let state = Mutex<(receipts: [Receipt], report: DrainReport?)>(([], nil))
    }

    @Test("cancelled in any order of turns that a seed chooses, however late a turn comes, nothing runs afterwards")
    func cancelledInAnyOrder() async throws {
        for seed in UInt64(1)...300 {
            let executor = SeededExecutor(seed: seed)
            var dice = SeededGenerator(seed: seed &+ 1)
            let (bench, inbox) = Self.work(on: executor)
            let end = End()
            let run = executor.start {
                let report = try? await bench.service.run()
                end.state.withLock { $0.report = report }
            }
            executor.start {
                let receipts = try? await bench.transport.intake().submit(Self.payloads())
                end.state.withLock { $0.receipts = receipts ?? [] }
            }
            for _ in 0..<(dice.next() % 400) { _ = executor.runOne() }
            run.cancel()
            for _ in 0..<100_000 where end.state.withLock({ $0.report == nil }) {
                // On a busy machine much time passes while tasks wait for their turn.
                if dice.next() % 4 > 0, executor.runOne() { continue }
                bench.clock.advance(by: .seconds(Int64(dice.next() % 20)))
            }
            let (receipts, report) = end.state.withLock { ($0.receipts, $0.report) }
            await check(bench, inbox, receipts, try #require(report), "seed \(seed)") { while executor.runOne() {} }
        }
    }

    @Test(
        "handlers that run may finish, then they are cancelled, then left; the next handler of a message does not begin",
        .oneByOne)
    func drain() async throws {
        let inbox = SpyInbox()
        let clock = ManualClock()
        // A transport that returns late gives nobody more time.
        let late = ScriptedTransport { _ in
            while clock.now < .seconds(5) { await Task.yield() }
            throw CancellationError()
        }
        let bench = ServiceBench(
            routes: [("a", nil), ("b", nil)], inbox: inbox, delivery: .with { $0.attempts = 1 }, clock: clock,
            transports: [late]
        ) { message, _ in
            let end = message.number == 1 ? 5 : 60
            while clock.now < .seconds(Int64(end)), message.number == 3 || !Task.isCancelled { await Task.yield() }
            if message.number != 1 { throw CancellationError() }
        }
        let (intake, run) = await bench.open()
        let receipts = try intake.submit((1...4).map { ServiceBench.payload($0, "o\($0 % 4)") })
        try await bench.calls(4)
        // The timer sleeps until the time of the handlers.
        try await until { clock.nextWake == .seconds(60) }
        run.cancel()
        for second in 1...20 {
            for _ in 0..<200 { await Task.yield() }
            bench.clock.advance(by: .seconds(1))
            if second == 9 { #expect(receipts.map(\.word) == ["handled", "open", "open", "open"]) }
            if second == 14 { #expect(receipts.map(\.word) == ["handled", "left", "open", "left"]) }
        }
        let report = try await run.value
        #expect(receipts.map(\.word) == ["handled", "left", "left", "left"])
        #expect(report.finished == 1 && report.cancelled == 3 && report.left == 3)
        #expect(bench.log.events.sorted() == ["a 1", "a 2", "a 3", "a 4", "b 1"])
        #expect(inbox.disk.inFlight == [] && inbox.disk.numbers == [2, 3, 4])
        #expect(bench.service.status.overrunning == 1)
        bench.clock.advance(by: .seconds(60))
        try await until { bench.service.status.overrunning == 0 }
    }

    @Test("a drain that wakes long after its time leaves a handler behind that does not return", .oneByOne)
    func lateDrain() async throws {
        let mayReturn = Flag()
        defer { mayReturn.set() }
        let bench = ServiceBench(inbox: SpyInbox()) { _, _ in while !mayReturn.isSet { await Task.yield() } }
        let (intake, run) = await bench.open()
        let receipt = try intake.submit([ServiceBench.payload(1)])[0]
        try await bench.calls(1)
        run.cancel()
        // The drain time and the grace, before the drain's task has had a turn.
        bench.clock.advance(by: .seconds(15))
        try await bench.passTime { receipt.word != "open" }
        #expect(try await run.value.left == 1)
        #expect(bench.service.status.overrunning == 1)
    }

    @Test(
        "what has no place and could not be dead-lettered or replaced before the stop is counted as left", .oneByOne,
        arguments: [true, false])
    func leftWithoutPlace(isChange: Bool) async throws {
        let inbox = SpyInbox { _, what in what.contains("ended") }
        let gate = Gate()
        let settings = ServiceSettings.with { ($0.messages, $0.messagesOnDisk) = (8, 7) }
        let bench = ServiceBench(inbox: inbox, settings: settings) { _, _ in await gate.wait() }
        let (intake, run) = await bench.open()
        let receipts = try (0..<12).flatMap { number in
            try intake.submit([
                isChange ? ServiceBench.payload(number) : ServiceBench.topic(number, "noisy", sender: nil)
            ])
        }
        try await until { bench.told.events.contains { $0.contains("could not record") } }
        run.cancel()
        gate.open()
        try await bench.passTime { receipts.allSatisfy { $0.word != "open" } }
        #expect(try await run.value.left == 12)
        #expect(inbox.disk.numbers.count == 12)
        #expect(receipts.map(\.word) == Array(repeating: "left", count: 12))
    }

    @Test("the service ends when its transports have ended and nothing waits, paced messages included", .oneByOne)
    func endsByItself() async throws {
        let (bench, intake, run) = await ServiceBench(isPaced: true) { message, context in
            if message.number == 100, context.attempt == 1 { throw TestError() }
        }.opened()
        let letters = (1...22).map { ServiceBench.topic($0, "news", sender: "U") }
        let receipts = try intake.submit(letters + [letters[21], ServiceBench.payload(100, "x")])
        try await until { bench.service.status.retrying == 1 && bench.service.status.paced == 1 }
        bench.transport.finish()
        try await bench.passTime { receipts.allSatisfy { $0.word != "open" } }
        #expect(try await run.value == DrainReport())
        let handled = Array(repeating: "handled", count: 22)
        #expect(receipts.map(\.word) == handled + ["duplicate (done)", "handled"])
        #expect(bench.receiver.metrics.received == 24)
    }

    @Test("a transport that throws stops the service, also while another one would run for ever", .oneByOne)
    func transportThrows() async throws {
        let bench = ServiceBench(transports: [ScriptedTransport { _ in throw TestError() }])
        let run = OwnThreads.start { try await bench.service.run() }
        await #expect(throws: TestError.self) { try await run.value }
        #expect(!bench.service.status.isOpen)
    }

    @Test(
        "a transport that waits for room and lets the intake's end out has returned, and the report is there", .oneByOne
    )
    func stoppedWhileFull() async throws {
        let settings = ServiceSettings.with { $0.messages = 1 }
        let gate = Gate()
        let eager = ScriptedTransport { intake in
            for number in 1... { _ = try await intake.submitWaiting(ServiceBench.payload(number)) }
        }
        let bench = ServiceBench(settings: settings, transports: [eager]) { _, _ in await gate.wait() }
        let (_, run) = await bench.open()
        try await bench.calls(1)
        try await until { bench.service.state.withLock { !$0.waiters.isEmpty } }
        run.cancel()
        gate.open()
        #expect(try await run.value == DrainReport(finished: 1, left: 0))
    }

    @Test("a service whose task was cancelled before takes nothing in, and leaves what there was", .oneByOne)
    func cancelledBefore() async throws {
        let inbox = SpyInbox()
        _ = try inbox.add([ServiceBench.payload(1), ServiceBench.payload(2)])
        try await inbox.record(.begun(1, attempt: 1))
        let bench = ServiceBench(inbox: SpyInbox(inbox.disk))
        let gate = Gate()
        let run = OwnThreads.start {
            await gate.wait()
            return try await bench.service.run()
        }
        run.cancel()
        gate.open()
        #expect(try await run.value.left == 2)
        #expect(bench.log.events.isEmpty && inbox.disk.numbers == [1, 2])
        await #expect(throws: ServiceUsed.self) { try await bench.service.run() }
    }

    @Test("when it has run, nothing keeps it, nor does a transport that keeps its intake and sends answers", .oneByOne)
    func nothingIsKept() async throws {
        weak var service: PushService?
        weak var receiver: PushReceiver?
        let transport: HandTransport
        do {
            let bench = ServiceBench(isPaced: true, transports: [KeepingTransport()]) { message, _ in
                if message.number % 7 == 0 { throw TestError() }
            }
            (service, receiver, transport) = (bench.service, bench.receiver, bench.transport)
            let (intake, run) = await bench.open()
            var receipts: [Receipt] = []
            for number in 0...60 { receipts += try intake.submit([ServiceBench.payload(number, "o\(number % 2)")]) }
            for _ in 0..<300 { await Task.yield() }
            run.cancel()
            _ = try await run.value
            #expect(receipts.allSatisfy { $0.word != "open" })
        }
        #expect(service != nil, "its transport has the intake")
        transport.forget()
        try await until { service == nil && receiver == nil }
    }

    /// A transport that sends answers too, and keeps its intake.
    private final class KeepingTransport: PushTransport, AnswerSender {
        let name = "keeping"
        let abilities: TransportAbilities = []
        private let intake = Mutex<PushIntake?>(nil)

        func run(_ intake: PushIntake) { self.intake.withLock { $0 = intake } }
        func takes(_ message: PushMessage) -> Bool { false }
        func send(_ answer: UnsentAnswer) {}
    }
}
