import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushDelivery
@testable import KiiPushTestSupport

/// What is tried again, when, and what becomes of it at last.
@Suite(.oneByOne, .timeLimit(.minutes(5)))
struct ServiceRetryTests {
    /// Settings, a jitter, and the pauses that follow, in milliseconds.
    struct Pauses: Sendable {
        let backoff: Int
        let most: Int
        let jitter: Double
        let pauses: [Int]
    }

    static let pauses = [
        Pauses(backoff: 200, most: 30_000, jitter: 0, pauses: [200, 400, 800, 1600, 3200]),
        Pauses(backoff: 200, most: 30_000, jitter: 1, pauses: [240, 480, 960, 1920, 3840]),
        Pauses(backoff: 200, most: 30_000, jitter: -1, pauses: [160, 320, 640, 1280, 2560]),
        Pauses(backoff: 200, most: 1000, jitter: 0, pauses: [200, 400, 800, 1000, 1000]),
        Pauses(backoff: 200, most: 1000, jitter: 7, pauses: [240, 480, 960, 1200, 1200]),
        Pauses(backoff: 500, most: 100, jitter: 0, pauses: [500, 500, 500]),
        Pauses(backoff: 0, most: 1000, jitter: 1, pauses: [0, 0, 0]),
        Pauses(backoff: -5, most: -7, jitter: 1, pauses: [0, 0, 0]),
        Pauses(backoff: 100, most: 1000, jitter: .nan, pauses: [100, 200, 400, 800, 1000]),
        Pauses(backoff: 100, most: 1000, jitter: .infinity, pauses: [100, 200]),
    ]

    @Test("pauses double up to the longest, and are made longer or shorter by a fifth at most", arguments: pauses)
    func pause(pauses: Pauses) {
        var settings = DeliverySettings()
        settings.backoff = .milliseconds(pauses.backoff)
        settings.maxBackoff = .milliseconds(pauses.most)
        #expect(
            pauses.pauses.indices.map { settings.pause(after: $0 + 1, pauses.jitter) }
                == pauses.pauses.map { .milliseconds($0) })
        #expect(settings.pause(after: .max, pauses.jitter) >= .zero)
        #expect(settings.pause(after: 0, 0) == max(.zero, .milliseconds(pauses.backoff)))
    }

    @Test("only the handlers that failed run again, after a pause that doubles, each told which attempt it is")
    func onlyTheFailed() async throws {
        let attempts = EventLog()
        let inbox = SpyInbox()
        let clock = ManualClock()
        let bench = ServiceBench(routes: [("a", nil), ("b", nil), ("c", nil)], inbox: inbox, clock: clock) {
            _, context in
            attempts.add("\(context.route) \(context.attempt) at \(clock.now.nanoseconds / 1_000_000)")
            if context.route == "b", context.attempt < 3 { throw TestError() }
            if context.route == "c", context.attempt < 2 { throw TestError() }
        }
        let (intake, run) = await bench.open()
        let receipt = try intake.submit([ServiceBench.payload(1)])[0]
        #expect(receipt.isStored)
        for (calls, pause) in [(3, 200), (5, 400)] {
            try await until { bench.service.status.retrying == 1 && attempts.events.count == calls }
            clock.advance(by: .milliseconds(pause))
        }
        try await until { receipt.word != "open" }
        #expect(attempts.events == ["a 1 at 0", "b 1 at 0", "c 1 at 0", "b 2 at 200", "c 2 at 200", "b 3 at 600"])
        #expect(
            inbox.log.events == [
                "entries", "add 1", "begun 1 (1)", "failed 1 [a]", "begun 1 (2)", "failed 1 [a c]", "begun 1 (3)",
                "ended 1",
            ])
        #expect(receipt.outcome?.name == "handled")
        guard case .handled(let routes)? = receipt.outcome else { return }
        #expect(routes.ids == ["a", "b", "c"])
        #expect(try await bench.close(run) == DrainReport())
        #expect(bench.receiver.metrics.nonzero == ["handled: 1"])
        #expect(
            bench.told.events.map { $0.prefix { $0 != "(" } } == ["notDurable", "retry", "retry"])
    }

    struct Busy: ReportedError {
        let report = "busy"
        var requestedPause: Duration?
    }

    @Test(
        "the pause that a server requests is added to the usual one: the longest of all routes, an hour at most, once",
        arguments: [(nil, 0), (60, 60), (-1, 0), (3600, 3600), (.max, 3600)] as [(Int?, Int)])
    func requestedPause(requested: Int?, added: Int) async throws {
        let times = EventLog()
        let clock = ManualClock()
        let bench = ServiceBench(routes: [("a", nil), ("b", nil)], clock: clock) { _, context in
            times.add("\(context.route) at \(clock.now.nanoseconds / 1_000_000)")
            if context.attempt == 2, context.route == "b" { throw TestError() }
            guard context.attempt == 1 else { return }
            throw Busy(requestedPause: context.route == "a" ? .seconds(-5) : requested.map { .seconds($0) })
        }
        let (intake, run) = await bench.open()
        let receipt = try intake.submit([ServiceBench.payload(1)])[0]
        try await bench.passTime { receipt.word != "open" }
        let second = 200 + added * 1000
        #expect(times.events == ["a at 0", "b at 0", "a at \(second)", "b at \(second)", "b at \(second + 400)"])
        #expect(try await bench.close(run) == DrainReport())
    }

    private struct Lack: ResourceShortage {}

    @Test("a handler that could not begin has used up no attempt, and is tried after pauses that grow to 10 s")
    func shortage() async throws {
        let (inbox, clock, calls) = (SpyInbox(), ManualClock(), EventLog())
        let (bench, intake, run) = await ServiceBench(
            routes: [("a", nil), ("b", nil)], inbox: inbox, clock: clock
        ) { _, context in
            calls.add("\(context.route) \(context.attempt): \(clock.now.nanoseconds / 1_000_000)")
            switch calls.events.count - 1 {
            case 1...9, 11: throw Lack()
            case 10: throw TestError()
            default: break
            }
        }.opened()
        let receipt = try intake.submit([ServiceBench.payload(1)])[0]
        try await bench.passTime { receipt.word != "open" }
        let first = [0, 100, 300, 700, 1500, 3100, 6300, 12_700, 22_700, 32_700].map { "b 1: \($0)" }
        #expect(calls.events == ["a 1: 0"] + first + ["b 2: 32900", "b 2: 33000"])
        #expect(receipt.outcome?.name == "handled")
        #expect(try await bench.close(run) == DrainReport())
        // Only what failed is told of; nothing is in flight while it waits.
        #expect(bench.told.events.map { $0.prefix { $0 != "(" } } == ["notDurable", "retry"])
        let lacked = inbox.log.events.filter { $0 == "begun 1 (0), failed 1 [a]" }
        #expect(lacked.count == 9, "a shortage is no attempt, in the inbox too")
    }

    @Test("a handler that a stopping service did not begin has used up no attempt")
    func stoppedBefore() async throws {
        let inbox = SpyInbox()
        let (bench, intake, run) = await ServiceBench(routes: [("a", nil), ("b", nil)], inbox: inbox) { _, context in
            // It ends well although it was cancelled, and the next handler may not begin.
            if context.route == "a" { while !Task.isCancelled { await Task.yield() } }
        }.opened()
        let receipt = try intake.submit([ServiceBench.payload(1)])[0]
        try await bench.calls(1)
        run.cancel()
        try await bench.passTime { receipt.word != "open" }
        #expect(try await run.value.left == 1 && receipt.word == "left")
        #expect(bench.log.events == ["a 1"] && inbox.disk.rows[1]?.attempts == 0)
        #expect(inbox.log.events.contains("begun 1 (0), failed 1 [a]"))
    }

    @Test("after the last attempt it is a dead letter that says all there is to know", arguments: [-3, 0, 1, 2, 5])
    func deadLetter(attempts: Int) async throws {
        let delivery = DeliverySettings.with { $0.attempts = attempts }
        let inbox = SpyInbox()
        let bench = ServiceBench(routes: [("good", nil), ("bad", delivery)], inbox: inbox, delivery: delivery) {
            _, context in
            if context.route == "bad" { throw TestError() }
        }
        let (intake, run) = await bench.open()
        let receipt = try intake.submit([ServiceBench.payload(1)])[0]
        try await bench.passTime { receipt.word != "open" }
        #expect(receipt.word == "deadLettered (failed)")
        let letter = try #require(bench.letters.letters().first)
        #expect(letter.reason == .failed && letter.routes == ["bad"] && letter.attempts == max(attempts, 1))
        #expect(letter.cause == "TestError" && letter.rulesGeneration == 0)
        #expect(letter.payload.bytes == ServiceBench.payload(1).bytes)
        #expect(inbox.disk.numbers == [])
        #expect(await intake.takeAndWait(ServiceBench.payload(1)) == "duplicate (done)")
        #expect(try await bench.close(run) == DrainReport())
        #expect(bench.receiver.metrics.nonzero == ["duplicate done: 1", "deadLettered failed: 1"])
    }

    @Test("without room among the dead letters and on disk, the transport is told to bring it again")
    func lettersFullInMemory() async throws {
        let delivery = DeliverySettings.with { $0.attempts = 1 }
        let fails = Flag()
        fails.set()
        let bench = ServiceBench(delivery: delivery, letters: InMemoryDeadLetterStore(capacity: 0)) { _, _ in
            if fails.isSet { throw TestError() }
        }
        let (intake, run) = await bench.open()
        let end = try await intake.submitWaiting(ServiceBench.payload(1)).end()
        #expect(end?.name == "failed" && end?.disposition == .retryLater)
        fails.clear()
        #expect(await intake.takeAndWait(ServiceBench.payload(1)) == "handled")
        #expect(try await bench.close(run) == DrainReport())
        #expect(bench.receiver.metrics.received == 2)
    }

    @Test("a middleware that cannot decide is asked again, and the message is counted once", arguments: [1, 4, 5])
    func middlewareThrows(failures: Int) async throws {
        let store = ClosableStore()
        store.isClosed.set()
        let inbox = SpyInbox()
        let (bench, intake, run) = await ServiceBench(inbox: inbox, store: store).opened()
        let receipt = try intake.submit([ServiceBench.payload(1)])[0]
        try await bench.passTime {
            bench.told.events.filter { $0.hasPrefix("retry") }.count == failures || receipt.word != "open"
        }
        store.isClosed.clear()
        try await bench.passTime { receipt.word != "open" }
        #expect(receipt.word == (failures < 5 ? "handled" : "deadLettered (failed)"))
        #expect(bench.letters.letters().map(\.attempts) == (failures < 5 ? [] : [0]), "its handlers were never run")
        #expect(bench.receiver.metrics.received == 1)
        #expect(inbox.disk.numbers == [])
        #expect(try await bench.close(run) == DrainReport())
    }

    // MARK: Time limits

    @Test("a handler that takes too long is cancelled, and what it did after that does not count")
    func timeLimit() async throws {
        let delivery = DeliverySettings.with { ($0.timeout, $0.attempts) = (.seconds(3), 2) }
        let cancelled = EventLog()
        let (bench, intake, run) = await ServiceBench(delivery: delivery) { message, context in
            guard message.number == 1, context.attempt == 1 else { return }
            await withTaskCancellationHandler {
                while !Task.isCancelled { await Task.yield() }
            } onCancel: {
                cancelled.add("cancelled")
            }
            throw CancellationError()
        }.opened()
        let receipts = try intake.submit([ServiceBench.payload(1), ServiceBench.payload(2)])
        try await bench.calls(1)
        bench.clock.advance(by: .milliseconds(2999))
        for _ in 0..<50 { await Task.yield() }
        #expect(cancelled.events.isEmpty)
        try await bench.passTime { receipts[1].word == "handled" }
        #expect(cancelled.events == ["cancelled"])
        #expect(bench.log.events == ["r 1", "r 1", "r 2"])
        #expect(bench.told.events.first?.hasPrefix("overrun") == true)
        #expect(bench.told.events.contains { $0.contains("HandlerOverrun") }, "not what it threw when it was cancelled")
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("a route without settings of its own has the service's timeout, whatever the first route's is")
    func timeoutOfEachRoute() async throws {
        let short = DeliverySettings.with { $0.timeout = .seconds(1) }
        let gate = Gate()
        let (bench, intake, run) = await ServiceBench(routes: [("a", short), ("b", nil)]) { _, context in
            if context.route == "b" { await gate.wait() }
        }.opened()
        let receipt = try intake.submit([ServiceBench.payload(1)])[0]
        try await bench.calls(2)
        try await bench.passTime { bench.told.events.contains { $0.hasPrefix("overrun") } }
        #expect(bench.clock.now == .seconds(60))
        gate.open()
        try await bench.passTime { receipt.word != "open" }
        #expect(receipt.word == "handled")
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test(
        "one that does not return either is left after the grace, and its lane goes on; its late success counts nothing"
    )
    func overrun() async throws {
        let delivery = DeliverySettings.with { ($0.timeout, $0.attempts) = (.seconds(3), 1) }
        let gate = Gate()
        let bench = ServiceBench(delivery: delivery) { message, _ in if message.number == 1 { await gate.wait() } }
        let (intake, run) = await bench.open()
        let receipts = try intake.submit([ServiceBench.payload(1), ServiceBench.payload(2)])
        try await bench.calls(1)
        try await bench.passTime { receipts[0].word != "open" }
        #expect(bench.clock.now >= .seconds(8), "the limit and the grace")
        #expect(receipts[0].word == "deadLettered (failed)")
        #expect(bench.letters.letters().map(\.cause) == ["HandlerOverrun"])
        #expect(await receipts[1].end()?.name == "handled")
        #expect(bench.service.status.overrunning == 1)
        #expect(bench.told.events.filter { $0.hasPrefix("overrun") }.count == 2)
        gate.open()
        try await until { bench.service.status.overrunning == 0 }
        #expect(try await bench.close(run) == DrainReport())
        #expect(bench.receiver.metrics.nonzero == ["handled: 1", "deadLettered failed: 1"])
    }

    @Test("a run that is left behind is counted and traced as a failure, and its late success as nothing")
    func leftBehind() async throws {
        let delivery = DeliverySettings.with { ($0.timeout, $0.attempts) = (.seconds(3), 2) }
        let (first, second) = (Gate(), Gate())
        let bench = ServiceBench(delivery: delivery) { _, context in
            await (context.attempt == 1 ? first : second).wait()
        }
        let traces = EventLog()
        bench.receiver.onTrace { trace in
            let calls = trace.calls.map { "\($0.attempt) \($0.isHandled ? "handled" : "failed")" }
            traces.add("\(calls.joined(separator: ", ")), \(trace.cause ?? "no cause")")
        }
        let (intake, run) = await bench.open()
        let receipt = try intake.submit([ServiceBench.payload(1)])[0]
        try await bench.calls(1)
        bench.clock.advance(by: delivery.timeout)
        try await until { bench.told.events.contains { $0.hasPrefix("overrun") } }
        bench.clock.advance(by: .seconds(5))
        try await until { bench.service.status.retrying == 1 }
        bench.clock.advance(by: delivery.backoff)
        try await bench.calls(2)
        first.open()
        try await until { bench.service.status.overrunning == 0 }
        let counts = { bench.receiver.metrics.routes.map { [$0.handled, $0.failed] } }
        #expect(counts() == [[0, 1]])
        second.open()
        #expect(await receipt.end()?.name == "handled")
        #expect(counts() == [[1, 1]] && traces.events == ["1 failed, 2 handled, HandlerOverrun"])
        #expect(try await bench.close(run) == DrainReport())
    }

    // MARK: Replaying

    @Test("a dead letter is replayed once, as a further attempt beyond those that it records, and goes when handled")
    func replay() async throws {
        let delivery = DeliverySettings.with { $0.attempts = 1 }
        let (fails, attempts) = (Flag(), EventLog())
        fails.set()
        let bench = ServiceBench(routes: [("good", nil), ("bad", nil)], delivery: delivery) { _, context in
            attempts.add("\(context.route) \(context.attempt)")
            if context.route == "bad", fails.isSet { throw TestError() }
        }
        let (intake, run) = await bench.open()
        #expect(await intake.takeAndWait(ServiceBench.payload(1)) == "deadLettered (failed)")
        let letter = try #require(bench.letters.letters().first)
        #expect(await "\(bench.service.replay(letter))" == "failed (bad)")
        #expect(bench.letters.count == 1)
        fails.clear()
        #expect(await "\(bench.service.replay(letter))" == "handled")
        #expect(bench.letters.count == 0)
        #expect(attempts.events == ["good 1", "bad 1", "bad 2", "bad 2"])
        #expect(try await bench.close(run) == DrainReport())
        #expect(bench.receiver.metrics.nonzero == ["handled: 1", "deadLettered failed: 1", "failed handler: 1"])
    }

    @Test("a letter is not dropped while it is replayed; no handler runs for a dropped one, or while no service runs")
    func refusedReplays() async throws {
        let gate = Gate()
        let bench = ServiceBench { _, _ in await gate.wait() }
        let letters = try (1...3).map { try bench.addLetter(ServiceBench.payload($0)) }
        func refusal(_ letter: DeadLetter) async -> ReplayRefused? {
            guard case .failed(let failure) = await bench.service.replay(letter) else { return nil }
            return failure.error as? ReplayRefused
        }
        #expect(await refusal(letters[0]) == .notRunning)
        let (_, run) = await bench.open()
        let first = OwnThreads.start { await bench.service.replay(letters[0]) }
        try await bench.calls(1)
        #expect(await refusal(letters[0]) == .isRunning)
        #expect(throws: ReplayRefused.isRunning) { try bench.service.drop(letters[0]) }
        #expect(try bench.service.drop(letters[1]))
        #expect(await refusal(letters[1]) == .gone)
        run.cancel()
        try await until { !bench.service.status.isOpen }
        #expect(await refusal(letters[2]) == .stopping)
        gate.open()
        #expect(try await first.value.name == "handled")
        _ = try await run.value
        #expect(bench.log.events == ["r 1"] && bench.letters.letters().map(\.id) == [3])
        #expect(bench.receiver.metrics.nonzero == ["handled: 1"])
    }

    @Test("a handler that does not return holds a replay up no longer than its time and the grace")
    func replayOverrun() async throws {
        let delivery = DeliverySettings.with { ($0.timeout, $0.attempts) = (.seconds(3), 1) }
        let gate = Gate()
        let (bench, _, run) = await ServiceBench(delivery: delivery) { _, _ in await gate.wait() }.opened()
        let letter = try bench.addLetter()
        let ends = EventLog()
        let replay = OwnThreads.start { ends.add("\(await bench.service.replay(letter))") }
        try await bench.calls(1)
        try await bench.passTime { !ends.events.isEmpty }
        #expect(ends.events == ["failed (r)"] && bench.clock.now >= .seconds(8))
        #expect(bench.letters.letters().map(\.id) == [letter.id])
        gate.open()
        try await replay.value
        try await until { bench.service.status.overrunning == 0 }
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("a service that stops waits for a replay")
    func replayAtStop() async throws {
        let gate = Gate()
        let (bench, _, run) = await ServiceBench { _, _ in await gate.wait() }.opened()
        let letter = try bench.addLetter()
        let replay = OwnThreads.start { await bench.service.replay(letter).name }
        try await bench.calls(1)
        run.cancel()
        for _ in 0..<200 { await Task.yield() }
        #expect(bench.service.state.withLock { $0.phase } == .stopping)
        gate.open()
        #expect(try await replay.value == "handled")
        #expect(try await run.value == DrainReport())
    }
}
