import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushDelivery
@testable import KiiPushTestSupport

/// Answers of commands: each exactly once, whatever fails.
@Suite(.oneByOne, .timeLimit(.minutes(5)))
struct ServiceAnswerTests {
    /// Delivers answers to a list, and fails as a test says.
    final class ListSender: AnswerSender {
        let name = "list"
        let sent = EventLog()
        private let errors: Mutex<[any Error]>

        init(failing errors: [any Error] = []) { self.errors = Mutex(errors) }

        func takes(_ message: PushMessage) -> Bool {
            message.storage.isCommand || message.storage.mqtt?.responseTopic != nil
        }

        func send(_ answer: UnsentAnswer) throws {
            if let error = errors.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { throw error }
            let to = answer.payload.mqtt?.correlationData.map { String(decoding: $0, as: UTF8.self) } ?? "-"
            sent.add("\(to): \(answer.answer.jsonText)")
        }
    }

    private static func request(_ id: String, expiry: UInt32? = nil) -> RawPayload {
        var payload = RawPayload(#"{"power":true}"#, transport: .mqtt)
        var mqtt = MQTTPublish(topic: "cmd/lamp/set")
        (mqtt.responseTopic, mqtt.correlationData, mqtt.expirySeconds) = ("r/1", Array(id.utf8), expiry)
        payload.mqtt = mqtt
        return payload
    }

    private static let command = RawPayload(
        #"{"commandID":"c1","actions":[{"lamp":[{"power":true},{"dim":5}]}],"issuer":"user:u1"}"#, transport: .mqtt)

    private static let data = DataValue.object([(key: "now", value: .number("1"))])
    private static let answered = #"{"status":"succeeded","data":{"now":1}}"#

    /// A bench with a route for commands, whose handler does what a test says.
    private func bench(
        _ inbox: any Inbox = SpyInbox(), _ sender: ListSender, routes: [(id: String, delivery: DeliverySettings?)] = [],
        delivery: DeliverySettings = DeliverySettings(), letters: InMemoryDeadLetterStore = InMemoryDeadLetterStore(),
        clock: ManualClock = ManualClock(), handler: @escaping @Sendable (HandlerContext) async throws -> Void
    ) -> ServiceBench {
        let bench = ServiceBench(
            routes: routes, inbox: inbox, delivery: delivery, letters: letters, clock: clock, answers: [sender])
        let log = bench.log
        bench.receiver.onCommand(id: "command", options: RouteOptions(then: .continue)) { _, context in
            log.add("command (\(context.attempt))")
            try await handler(context)
        }
        return bench
    }

    /// Hands a payload over, and returns all answers once there is one and the service has ended.
    private static func answers(
        to payload: RawPayload, _ bench: ServiceBench, _ sender: ListSender
    ) async throws -> [String] {
        let (intake, run) = await bench.open()
        _ = try intake.submit([payload])
        try await until { !sender.sent.events.isEmpty }
        _ = try await bench.close(run)
        return sender.sent.events
    }

    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let answer: String
        let handler: @Sendable (HandlerContext) async throws -> Void
    }

    static let cases = [
        Case(testDescription: "the handler's answer is sent", answer: answered) { context in
            #expect(context.expectsAnswer)
            try context.answer(.succeeded(data))
        },
        Case(testDescription: "the last of two answers is sent", answer: answered) { context in
            try context.answer(.failed("not yet"))
            try context.answer(.succeeded(data))
        },
        Case(testDescription: "a handler without an answer has succeeded", answer: #"{"status":"succeeded"}"#) { _ in },
        Case(testDescription: "an answer of a failed attempt does not count", answer: answered) { context in
            try context.answer(.succeeded(context.attempt == 1 ? .null : data))
            if context.attempt == 1 { throw TestError() }
        },
        Case(
            testDescription: "an answer of a failed attempt does not count if the next one gives none",
            answer: #"{"status":"succeeded"}"#
        ) { context in
            guard context.attempt == 1 else { return }
            try context.answer(.failed("busy"))
            throw TestError()
        },
        Case(
            testDescription: "a handler that fails for good has failed, whatever it answered before",
            answer: #"{"status":"failed","reason":"deadLettered: failed"}"#
        ) { context in
            try context.answer(.succeeded(data))
            throw TestError()
        },
        Case(
            testDescription: "a handler that says why it cannot be done has failed at once",
            answer: #"{"status":"failed","reason":"stuck"}"#
        ) { context in try context.answer(.failed("stuck")) },
        Case(testDescription: "a too large answer is an error of the handler", answer: answered) { context in
            let deep = (0..<33).reduce(DataValue.null) { value, _ in .array([value]) }
            for data in [.string(String(repeating: "x", count: Answer.mostBytes)), deep, .number("x")] {
                #expect(throws: AnswerTooLarge.self) { try context.answer(.succeeded(data)) }
            }
            try context.answer(.succeeded(data))
        },
    ]

    @Test("a command gets exactly one answer", arguments: cases, [true, false])
    func one(item: Case, isDurable: Bool) async throws {
        let sender = ListSender()
        let inbox = SpyInbox()
        let bench = bench(isDurable ? inbox : InMemoryInbox(), sender, handler: item.handler)
        let (intake, run) = await bench.open()
        let receipt = try intake.submit([Self.request("k")])[0]
        try await bench.passTime { !sender.sent.events.isEmpty }
        #expect(await receipt.end() != nil && receipt.answer?.jsonText == item.answer)
        let again = try intake.submit([Self.request("k")])[0]
        #expect(await again.end()?.name == "duplicate")
        #expect(sender.sent.events == ["k: \(item.answer)"])
        if isDurable { try await until { inbox.log.events.last == "answered 1" || inbox.log.events.last == "ended 2" } }
        _ = try await bench.close(run)
        #expect(inbox.disk.isEmpty)
    }

    @Test("two requests with equal content and different correlation data are two commands")
    func correlation() async throws {
        let sender = ListSender()
        let bench = bench(SpyInbox(), sender) { context in try context.answer(.succeeded(Self.data)) }
        let (intake, run) = await bench.open()
        _ = try intake.submit([Self.request("a"), Self.request("b"), Self.request("a")])
        try await until { sender.sent.events.count == 2 }
        _ = try await bench.close(run)
        #expect(Set(sender.sent.events) == ["a: \(Self.answered)", "b: \(Self.answered)"])
    }

    @Test("a command that expires while it waits is answered so")
    func expired() async throws {
        let sender = ListSender()
        let held = Mutex<CheckedContinuation<Void, Never>?>(nil)
        let (bench, intake, run) = await bench(SpyInbox(), sender) { _ in
            await withCheckedContinuation { waiter in held.withLock { $0 = waiter } }
        }.opened()
        // Both are of one topic, so the second waits for the first.
        _ = try intake.submit([Self.request("a"), Self.request("b", expiry: 5)])
        try await until { held.withLock { $0 != nil } }
        bench.clock.advance(by: .seconds(6))
        held.withLock { $0.take() }?.resume()
        try await until { sender.sent.events.count == 2 }
        _ = try await bench.close(run)
        #expect(sender.sent.events.last == #"b: {"status":"expired","reason":"it came too late"}"#)
    }

    @Test("a command is answered by how its own routes have ended, whatever another one did", arguments: [true, false])
    func otherRoute(isKilled: Bool) async throws {
        let sender = ListSender()
        let clock = ManualClock()
        let bench = ServiceBench(routes: [("log", nil)], inbox: SpyInbox(), clock: clock, answers: [sender]) { _, _ in
            clock.advance(by: .seconds(6))
        }
        bench.receiver.onCommand(id: "command") { _, _ in }
        if isKilled { bench.loopGuard.kill(.route("command"), for: .seconds(60)) }
        let answers = try await Self.answers(to: Self.request("k", expiry: isKilled ? nil : 5), bench, sender)
        let expired = #"k: {"status":"expired","reason":"it came too late"}"#
        let killed = #"k: {"status":"failed","reason":"its rule did not handle it"}"#
        #expect(answers == [isKilled ? killed : expired])
    }

    @Test("a command that its route has handled has succeeded, though another route failed")
    func otherFails() async throws {
        let sender = ListSender()
        let bench = ServiceBench(
            routes: [("log", nil)], inbox: SpyInbox(), delivery: .with { $0.attempts = 1 }, answers: [sender]
        ) { _, _ in throw TestError() }
        bench.receiver.onCommand(id: "command") { _, _ in }
        #expect(try await Self.answers(to: Self.command, bench, sender) == [#"-: {"status":"succeeded"}"#])
    }

    @Test("a command that waits for room among the dead letters is answered when it has ended")
    func putOff() async throws {
        let sender = ListSender()
        let letters = try InMemoryDeadLetterStore.full()
        let delivery = DeliverySettings.with { $0.attempts = 1 }
        let bench = bench(SpyInbox(), sender, delivery: delivery, letters: letters) { _ in throw TestError() }
        let (intake, run) = await bench.open()
        let receipt = try intake.submit([Self.request("a")])[0]
        try await bench.passTime { bench.told.events.contains { $0.hasPrefix("storeFailed") } }
        #expect(sender.sent.events.isEmpty && receipt.word == "open")
        letters.remove(1)
        try await bench.passTime { !sender.sent.events.isEmpty }
        _ = try await bench.close(run)
        #expect(sender.sent.events == [#"a: {"status":"failed","reason":"deadLettered: failed"}"#])
    }

    @Test("an inbox whose answers cannot be read is a failure of the store, until it can be read again")
    func unreadable() async throws {
        let (sender, inbox) = (ListSender(), SpyInbox { _, what in what == "answers" })
        let bench = bench(inbox, sender) { context in try context.answer(.succeeded(Self.data)) }
        let (intake, run) = await bench.open()
        _ = try intake.submit([Self.request("a")])
        try await bench.passTime { bench.service.status.failures.contains { $0.hasPrefix("answers in the inbox") } }
        inbox.fail { _, _ in false }
        try await bench.passTime { !sender.sent.events.isEmpty }
        #expect(bench.service.status.failures.isEmpty && sender.sent.events == ["a: \(Self.answered)"])
        #expect(bench.told.events.count { $0.hasPrefix("storeFailed") } == 1)
        _ = try await bench.close(run)
    }

    @Test("an answer is sent again after pauses that grow to a minute, told once; one that never can be is discarded")
    func again() async throws {
        let errors: [any Error] = (0..<9).map { _ in TestError() }
        let sender = ListSender(failing: errors + [AnswerRefused("nobody there"), TestError()])
        let (disk, clock, times) = (SpyInbox.Disk(), ManualClock(), EventLog())
        let inbox = SpyInbox(disk) { _, what in
            if what == "answers", disk.hasAnswers { times.add("\(clock.now.nanoseconds / 1_000_000_000)") }
            return false
        }
        let bench = bench(inbox, sender, clock: clock) { context in try context.answer(.succeeded(Self.data)) }
        let (intake, run) = await bench.open()
        _ = try intake.submit([Self.request("a")])
        try await bench.passTime { inbox.log.events.contains("answered 1") }
        #expect(bench.told.events.contains { $0.contains("an answer can never be delivered: nobody there") })
        _ = try intake.submit([Self.request("b")])
        try await bench.passTime { sender.sent.events == ["b: \(Self.answered)"] }
        #expect(times.events == ["0", "1", "3", "7", "15", "31", "63", "123", "183", "243", "243", "244"])
        #expect(bench.told.events.count { $0.contains("and is sent again") } == 2)
        _ = try await bench.close(run)
        #expect(bench.service.status.failures.isEmpty)
    }

    @Test("a new answer does not wait for the pause behind one that could not be delivered")
    func pause() async throws {
        let sender = ListSender(failing: [TestError()])
        let bench = bench(SpyInbox(), sender) { context in try context.answer(.succeeded(Self.data)) }
        let (intake, run) = await bench.open()
        let start = bench.clock.now
        #expect(await intake.takeAndWait(Self.request("a")) == "handled")
        try await until { bench.told.events.contains { $0.contains("and is sent again") } }
        #expect(await intake.takeAndWait(Self.request("b")) == "handled")
        try await until { sender.sent.events == ["a", "b"].map { "\($0): \(Self.answered)" } }
        #expect(bench.clock.now == start)
        _ = try await bench.close(run)
    }

    @Test("an answer is sent again after the pause that a server requests")
    func requestedPause() async throws {
        let sender = ListSender(failing: [ServiceRetryTests.Busy(requestedPause: .seconds(60))])
        let bench = bench(SpyInbox(), sender) { context in try context.answer(.succeeded(Self.data)) }
        let (intake, run) = await bench.open()
        let start = bench.clock.now
        _ = try intake.submit([Self.request("a")])
        try await bench.passTime { !sender.sent.events.isEmpty }
        #expect(start.duration(to: bench.clock.now) == .seconds(61))
        _ = try await bench.close(run)
    }

    @Test("an answer is delivered by the next process, wherever the one before has ended", arguments: 0..<9)
    func crash(call: Int) async throws {
        let disk = SpyInbox.Disk()
        let sent = EventLog()
        var isAccepted = false
        for life in 0..<2 {
            let inbox = SpyInbox(disk)
            let calls = Atomic<Int>(0)
            if life == 0 {
                inbox.fail { [weak inbox] _, what in
                    if what != "entries", calls.add(1, ordering: .relaxed).oldValue == call { inbox?.crash() }
                    return inbox?.isCrashed == true
                }
            }
            let sender = ListSender()
            let (bench, intake, run) = await bench(inbox, sender, routes: [("log", nil)]) { context in
                try context.answer(.succeeded(Self.data))
            }.opened()
            if !isAccepted { isAccepted = (try? intake.submit([Self.request("k")])) != nil }
            try await bench.passTime {
                inbox.isCrashed || disk.isEmpty && !disk.hasAnswers && isAccepted
            }
            for event in sender.sent.events { sent.add(event) }
            run.cancel()
            // A process that has crashed leaves its records unwritten for ever.
            try await bench.passTime { bench.service.state.withLock { $0.phase == .stopped } }
            _ = try? await run.value
        }
        // Between the delivery and its record, a crash repeats it.
        #expect(Set(sent.events) == ["k: \(Self.answered)"] && sent.events.count <= 2, "\(sent.events)")
    }

    @Test("the answers of two routes whose names look the same outlive the process, each by itself")
    func lookAlikes() async throws {
        let (disk, sender) = (SpyInbox.Disk(), ListSender())
        let options = RouteOptions(then: .continue)
        for isFirst in [true, false] {
            let inbox = SpyInbox(disk)
            let delivery = DeliverySettings.with { $0.attempts = 100 }
            let bench = ServiceBench(routes: [], inbox: inbox, delivery: delivery, answers: [sender])
            bench.receiver.onCommand(id: "caf\u{E9}", action: "power", options: options) { _, context in
                try context.answer(.succeeded(Self.data))
            }
            bench.receiver.onCommand(id: "cafe\u{301}", action: "dim", options: options) { _, context in
                try context.answer(.failed("stuck"))
            }
            bench.receiver.onCommand(id: "other", action: "power", options: options) { _, _ in
                if isFirst { throw TestError() }
            }
            let (intake, run) = await bench.open()
            if isFirst { _ = try intake.submit([Self.command]) }
            try await bench.passTime {
                isFirst ? inbox.log.events.contains { $0.hasPrefix("failed") } : !sender.sent.events.isEmpty
            }
            if isFirst { inbox.crash() }
            run.cancel()
            try await bench.passTime { bench.service.state.withLock { $0.phase == .stopped } }
            _ = try? await run.value
        }
        #expect(
            sender.sent.events == [
                #"-: {"status":"failed","data":{"now":1},"reason":"stuck","failedActions":{"dim":"stuck"}}"#
            ])
    }

    @Test(
        "each action of a Thing-IF command has the result of the routes that take it, and fails where none does",
        arguments: [("power", "dim"), ("caf\u{E9}", "cafe\u{301}"), ("power", nil)])
    func actions(power: String, dim: String?) async throws {
        let sender = ListSender()
        let bench = ServiceBench(routes: [], inbox: SpyInbox(), answers: [sender])
        let options = RouteOptions(then: .continue)
        bench.receiver.onCommand(id: power, action: "power", options: options) { _, context in
            try context.answer(.succeeded(Self.data))
        }
        if let dim {
            bench.receiver.onCommand(id: dim, action: "dim", options: options) { _, context in
                try context.answer(.failed("stuck"))
            }
        }
        bench.receiver.onCommand(id: "other", action: "other", options: options) { _, _ in
            Issue.record("not its action")
        }
        let answers = try await Self.answers(to: Self.command, bench, sender)
        let why = dim != nil ? "stuck" : "no rule takes this action"
        #expect(
            answers == [
                #"-: {"status":"failed","data":{"now":1},"reason":"\#(why)","failedActions":{"dim":"\#(why)"}}"#
            ])
    }

    @Test("a message that is no command is answered only if a handler does, and nobody hears it without a sender")
    func plain() async throws {
        let sender = ListSender()
        let isAnswered = Flag()
        let (bench, intake, run) = await ServiceBench(inbox: SpyInbox(), answers: [sender]) { _, context in
            if isAnswered.isSet { try context.answer(.succeeded(Self.data)) }
        }.opened()
        let first = try intake.submit([Self.request("a")])[0]
        #expect(await first.end()?.name == "handled" && first.answer == nil)
        isAnswered.set()
        let unasked = try intake.submit([RawPayload(#"{"a":1}"#)])[0]
        #expect(await unasked.end()?.name == "handled" && unasked.answer == nil)
        _ = try intake.submit([Self.request("b")])
        try await until { !sender.sent.events.isEmpty }
        _ = try await bench.close(run)
        #expect(sender.sent.events == ["b: \(Self.answered)"])
    }
}
