import KiiPushContracts
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushDelivery
@testable import KiiPushTestSupport

/// How much a service takes on, and what those do who have more.
@Suite(.oneByOne, .timeLimit(.minutes(5)))
struct ServiceRoomTests {
    private static let size = ServiceBench.payload(1).bytes.count

    /// Bounds of messages and of bytes, and how many payloads of one size fit.
    static let bounds = [(8, 1 << 20, 8), (1000, 8 * size + size / 2, 8), (1, 1 << 20, 1), (0, 1, 1)]

    @Test(
        "beyond the bound on disk a change does not replace those of other objects, in its lane or in others",
        arguments: [(DeliverySettings.Order.sender, 4), (.object, 5)])
    func changesOfOtherObjects(order: DeliverySettings.Order, fit: Int) async throws {
        let delivery = DeliverySettings.with { $0.order = order }
        let settings = ServiceSettings.with { ($0.messages, $0.messagesOnDisk) = (4, 7) }
        let gate = Gate()
        let bench = ServiceBench(inbox: SpyInbox(), settings: settings, delivery: delivery) { _, _ in
            await gate.wait()
        }
        let (intake, run) = await bench.open()
        let numbers = 1...fit + 1
        let receipts = try numbers.flatMap { try intake.submit([ServiceBench.payload($0, "o\($0)", sender: "U")]) }
        gate.open()
        let handled = Array(repeating: "handled", count: fit)
        #expect(await receipts.words() == handled + ["deadLettered (backlogFull)"])
        #expect(bench.log.events.sorted() == numbers.dropLast().map { "r \($0)" })
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test(
        "a full service refuses, calls those who wait when there is room, and ends with nothing kept", arguments: bounds
    )
    func full(messages: Int, bytes: Int, fit: Int) async throws {
        let settings = ServiceSettings.with { ($0.messages, $0.bytes) = (messages, bytes) }
        let gates = (0..<9).map { _ in Gate() }
        let bench = ServiceBench(settings: settings) { message, _ in await gates[message.number % 9].wait() }
        let (intake, run) = await bench.open()
        var receipts: [Receipt] = []
        for number in 0..<fit { receipts += try intake.submit([ServiceBench.payload(number, "o\(number)")]) }
        #expect(bench.service.status.messages == fit)
        #expect(bench.service.status.bytes > 0)
        #expect(throws: IntakeRefusal.self) { try intake.submit([ServiceBench.payload(100)]) }
        #expect(bench.service.status.messages == fit, "what is refused takes no room")
        let called = Atomic<Int>(0)
        intake.whenRoom { called.add(100, ordering: .relaxed) }
        intake.whenRoom { called.add(1, ordering: .relaxed) }
        let waiting = OwnThreads.start { try await intake.submitWaiting(ServiceBench.payload(17, "late")) }
        for _ in 0..<50 { await Task.yield() }
        #expect(called.load(ordering: .relaxed) == 0)
        if fit > 1 {
            gates[0].open()
            try await until { bench.service.status.messages == fit - 1 }
            #expect(called.load(ordering: .relaxed) == 0, "a quarter is to be free")
        }
        for gate in gates { gate.open() }
        receipts.append(try await waiting.value)
        #expect(await receipts.words() == Array(repeating: "handled", count: fit + 1))
        try await until { called.load(ordering: .relaxed) > 0 }
        #expect(
            called.load(ordering: .relaxed) == 1, "the later one takes the place of the earlier one, and is called once"
        )
        #expect(try await bench.close(run) == DrainReport())
        #expect(bench.service.status == ServiceStatus())
    }

    @Test("what is larger than all there may be comes alone, and those who wait for that much room do not spin")
    func larger() async throws {
        let settings = ServiceSettings.with { $0.bytes = 4 * Self.size }
        let gate = Gate()
        let bench = ServiceBench(settings: settings) { message, _ in if message.number == 1 { await gate.wait() } }
        let (intake, run) = await bench.open()
        let first = try intake.submit([ServiceBench.payload(1)])
        let large = PayloadFixture.pushToUser(
            sentAt: 1_000_009, data: [("text", .string(String(repeating: "x", count: 4 * Self.size)))]
        ).payload(.long)
        // More than is free, less than all: a quarter is free, and yet there is no room.
        let wide = PayloadFixture.pushToUser(
            sentAt: 1_000_008, data: [("text", .string(String(repeating: "x", count: 3 * Self.size)))]
        ).payload(.long)
        let called = Flag()
        #expect(throws: IntakeRefusal.self) { try intake.submit([wide]) }
        intake.whenRoom { called.set() }
        #expect(!called.isSet)
        let waiting = [large, wide].map { payload in OwnThreads.start { try await intake.submitWaiting(payload) } }
        for _ in 0..<50 { await Task.yield() }
        #expect(bench.service.status.messages == 1)
        gate.open()
        #expect(await first.words() == ["handled"])
        for task in waiting { #expect(await (try task.value).end()?.name == "handled") }
        #expect(called.isSet)
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("two transports of one name are each called, one that has much when it uses less than what is free")
    func twoOfOneName() async throws {
        let settings = ServiceSettings.with { $0.messages = 16 }
        let (first, gate) = (Gate(), Gate())
        let other = HandTransport()
        let bench = ServiceBench(settings: settings, transports: [other]) { message, _ in
            await (message.number == 1 ? first : gate).wait()
        }
        let (intake, run) = await bench.open()
        for number in 1...8 { _ = try intake.submit([ServiceBench.payload(number, "o\(number)")]) }
        #expect(throws: IntakeRefusal.self) { try intake.submit([ServiceBench.payload(9)]) }
        let called = Atomic<Int>(0)
        intake.whenRoom { called.add(1, ordering: .relaxed) }
        await other.intake().whenRoom { called.add(10, ordering: .relaxed) }
        first.open()
        try await until { bench.service.status.messages == 7 }
        #expect(called.load(ordering: .relaxed) == 10)
        gate.open()
        try await until { called.load(ordering: .relaxed) == 11 }
        other.finish()
        _ = try await bench.close(run)
    }

    @Test("payloads come all or none, and a payload that is no message takes no room")
    func allOrNone() async throws {
        let gate = Gate()
        let bench = ServiceBench(settings: .with { $0.messages = 3 }) { _, _ in await gate.wait() }
        let (intake, run) = await bench.open()
        let receipts = try intake.submit([ServiceBench.payload(1), RawPayload("nonsense"), ServiceBench.payload(2)])
        #expect(receipts.map(\.word) == ["open", "undecodable (unexpectedCharacter)", "open"])
        #expect(receipts.allSatisfy { !$0.isStored } && bench.letters.letters().map(\.reason) == [.undecodable])
        #expect(bench.service.status.messages == 2)
        #expect(throws: IntakeRefusal.self) { try intake.submit([ServiceBench.payload(3), ServiceBench.payload(4)]) }
        #expect(try intake.submit([]).isEmpty)
        gate.open()
        #expect(await receipts.words() == ["handled", "undecodable (unexpectedCharacter)", "handled"])
        #expect(try await bench.close(run) == DrainReport())
        #expect(bench.receiver.metrics.received == 3)
    }

    @Test("what waits for its pace keeps its room, and gives it back when it has ended")
    func pacedTakesRoom() async throws {
        let (bench, intake, run) = await ServiceBench(settings: .with { $0.messages = 24 }, isPaced: true).opened()
        let letters = (1...25).map { ServiceBench.topic($0, "news", sender: "U") }
        let receipts = try intake.submit(Array(letters[..<24]))
        try await until { bench.service.status.messages == 4 && bench.service.status.paced == 1 }
        #expect(bench.service.status.bytes == 4 * letters[20].bytes.count && bench.service.status.waiting == 3)
        #expect(throws: IntakeRefusal.self) { try intake.submit(Array(repeating: letters[24], count: 21)) }
        try await bench.passTime { receipts.allSatisfy { $0.word == "handled" } }
        #expect(bench.log.events == (1...24).map { "r \($0)" })
        #expect(try await bench.close(run) == DrainReport())
        #expect(bench.service.status == ServiceStatus())
    }

    @Test("one who waits for room waits for an inbox that fails too, with pauses that double up to ten seconds")
    func waitsForInbox() async throws {
        let clock = ManualClock()
        let times = EventLog()
        let inbox = SpyInbox { _, what in
            guard what == "add 1" else { return false }
            times.add("\(clock.now.nanoseconds / 1_000_000)")
            return times.events.count < 10
        }
        let (bench, intake, run) = await ServiceBench(inbox: inbox, clock: clock).opened()
        let waiting = OwnThreads.start { try await intake.submitWaiting(ServiceBench.payload(1)) }
        try await bench.passTime { times.events.count == 10 }
        #expect(
            times.events == ["0", "100", "300", "700", "1500", "3100", "6300", "12700", "22700", "32700"])
        #expect(await (try waiting.value).end()?.name == "handled")
        inbox.fail { _, what in what == "add 1" }
        let cancelled = OwnThreads.start { try await intake.submitWaiting(ServiceBench.payload(2)) }
        try await until { inbox.log.events.last == "add 1?" }
        cancelled.cancel()
        await #expect(throws: IntakeRefusal.self) { try await cancelled.value }
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("a payload that waited for room is marked, and no other")
    func marked() async throws {
        let intake = TrialIntake()
        _ = try await intake.intake(for: "test").submitWaiting(ServiceBench.payload(1))
        intake.setRoom(0)
        let waiting = OwnThreads.start { try await intake.intake(for: "test").submitWaiting(ServiceBench.payload(2)) }
        try await until { intake.isAwaited }
        intake.setRoom(.max)
        _ = try await waiting.value
        #expect(intake.payloads.map(\.hasWaited) == [false, true])
    }

    @Test("one who waits for room and is cancelled, or whose service stops, is told so")
    func waitsInVain() async throws {
        let gate = Gate()
        let bench = ServiceBench(settings: .with { $0.messages = 1 }) { _, _ in await gate.wait() }
        let (intake, run) = await bench.open()
        let receipt = try intake.submit([ServiceBench.payload(1)])[0]
        let waiting = (2...4).map { number in
            OwnThreads.start { try await intake.submitWaiting(ServiceBench.payload(number)) }
        }
        waiting[0].cancel()
        await #expect(throws: IntakeRefusal.self) { try await waiting[0].value }
        let called = Flag()
        intake.whenRoom { called.set() }
        run.cancel()
        await #expect(throws: IntakeRefusal.self) { try await waiting[1].value }
        await #expect(throws: IntakeRefusal.self) { try await waiting[2].value }
        #expect(called.isSet)
        gate.open()
        #expect(await receipt.end()?.name == "handled")
        #expect(try await run.value == DrainReport(finished: 1, left: 0))
        #expect(throws: IntakeRefusal.self) { try intake.submit([ServiceBench.payload(5)]) }
    }
}
