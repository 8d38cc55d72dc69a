import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushDelivery
@testable import KiiPushTestSupport

/// What finds no place in memory: it waits in the inbox and keeps nobody else from anything.
@Suite(.oneByOne, .timeLimit(.minutes(5)))
struct ServiceSpillTests {
    private static let size = ServiceBench.payload(1).bytes.count

    private static func settings(_ messages: Int, _ change: (inout ServiceSettings) -> Void = { _ in })
        -> ServiceSettings
    {
        var settings = ServiceSettings()
        settings.messages = messages
        change(&settings)
        return settings
    }

    @Test("a thousand slow messages of one object keep no other message from being the next", arguments: [true, false])
    func slowObject(isDurable: Bool) async throws {
        let gate = Gate()
        let other = HandTransport()
        let inbox: any Inbox = isDurable ? SpyInbox() : InMemoryInbox()
        let (bench, intake, run) = await ServiceBench(inbox: inbox, transports: [other]) { message, _ in
            if message.number < 9000 { await gate.wait() }
        }.opened()
        let otherIntake = await other.intake()
        var (receipts, refused) = ([Receipt](), 0)
        for number in 0..<1000 {
            do { receipts += try intake.submit([ServiceBench.payload(number, "noisy")]) } catch { refused += 1 }
        }
        // With an inbox in memory, the noisy transport waits, and leaves as much free as it uses.
        #expect(refused == (isDurable ? 0 : 500))
        for number in 9000..<9010 {
            #expect(await otherIntake.takeAndWait(ServiceBench.payload(number, "quiet")) == "handled")
        }
        if isDurable {
            #expect(await intake.takeAndWait(ServiceBench.payload(9010, "o", bucket: "other")) == "handled")
            #expect(bench.service.status.messages == 112 && bench.service.status.onDisk == 888)
        }
        gate.open()
        #expect(await receipts.words() == Array(repeating: "handled", count: receipts.count))
        let noisy = bench.log.events.compactMap { Int($0.dropFirst(2)) }.filter { $0 < 9000 }
        #expect(noisy == (0..<receipts.count).map { $0 }, "in their order")
        other.finish()
        #expect(try await bench.close(run) == DrainReport())
        #expect(bench.service.status == ServiceStatus())
    }

    @Test("fifteen hundred objects of one bucket use a third of the memory, and all are handled, each object in order")
    func manyObjects() async throws {
        let gate = Gate()
        let inbox = SpyInbox(isLogging: false)
        let bench = ServiceBench(inbox: inbox) { message, _ in if message.number < 20_000 { await gate.wait() } }
        let (intake, run) = await bench.open()
        var receipts: [Receipt] = []
        for first in stride(from: 0, to: 3000, by: 60) {
            receipts += try intake.submit(
                (first..<first + 60).map { ServiceBench.payload($0, "o\($0 % 1500)", bucket: "noisy") })
        }
        #expect(bench.service.status.messages == 334 && bench.service.status.onDisk == 2666)
        #expect(await intake.takeAndWait(ServiceBench.payload(20_000, bucket: "quiet")) == "handled")
        gate.open()
        #expect(await receipts.words() == Array(repeating: "handled", count: 3000))
        let numbers = bench.log.events.compactMap { Int($0.dropFirst(2)) }.filter { $0 < 20_000 }
        var last: [Int: Int] = [:]
        for number in numbers {
            #expect(last[number % 1500] ?? -1 < number, "the second change of an object is after the first")
            last[number % 1500] = number
        }
        #expect(numbers.count == 3000 && inbox.disk.numbers.isEmpty)
        #expect(try await bench.close(run) == DrainReport())
        #expect(bench.service.status == ServiceStatus())
    }

    @Test("what waits on disk is not overtaken by what comes later in its bucket")
    func notOvertaken() async throws {
        let settings = Self.settings(8) { $0.concurrency = 1 }
        let intakeOfHandler = Mutex<PushIntake?>(nil)
        let gate = Gate()
        let (bench, intake, run) = await ServiceBench(inbox: SpyInbox(), settings: settings) { message, _ in
            await gate.wait()
            guard message.number < 20 else { return }
            let intake = intakeOfHandler.withLock { $0 }
            _ = try intake?.submit([ServiceBench.payload(1000 + message.number, "p\(message.number)")])
        }.opened()
        intakeOfHandler.withLock { $0 = intake }
        let receipts = try (0..<20).flatMap { try intake.submit([ServiceBench.payload($0, "o\($0)")]) }
        gate.open()
        #expect(await receipts.words() == Array(repeating: "handled", count: 20))
        try await bench.calls(40)
        #expect(Set(bench.log.events.prefix(20)) == Set((0..<20).map { "r \($0)" }))
        #expect(try await bench.close(run) == DrainReport())
        // The handler would keep the service, and the service the handler.
        intakeOfHandler.withLock { $0 = nil }
    }

    @Test("a route whose buckets are many leaves places for another route")
    func route() async throws {
        let gate = Gate()
        let bench = ServiceBench(routes: [], inbox: SpyInbox(), settings: Self.settings(100))
        bench.receiver.onPushToApp(id: "app") { _, _ in await gate.wait() }
        bench.receiver.onPushToUser(id: "user") { _, _ in }
        let (intake, run) = await bench.open()
        let receipts = try (0..<300).flatMap { try intake.submit([ServiceBench.payload($0, bucket: "b\($0)")]) }
        #expect(bench.service.status.messages == 50 && bench.service.status.onDisk == 250)
        #expect(await intake.takeAndWait(ServiceBench.topic(400, "t", sender: nil)) == "handled")
        gate.open()
        #expect(await receipts.words() == Array(repeating: "handled", count: 300))
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("what waits on disk when the service is cancelled is there for the next process, which reads it in order")
    func cancelled() async throws {
        let disk = SpyInbox.Disk()
        let gate = Gate()
        let bench = ServiceBench(inbox: SpyInbox(disk), settings: Self.settings(40)) { _, _ in await gate.wait() }
        let (intake, run) = await bench.open()
        let receipts = try (0..<500).flatMap { try intake.submit([ServiceBench.payload($0, "o\($0 % 5)")]) }
        try await bench.calls(5)
        run.cancel()
        try await until { bench.service.status.isOpen == false }
        gate.open()
        let report = try await run.value
        #expect(report.finished == 5 && report.left == 495)
        #expect(bench.service.status.messages == 0 && bench.service.status.onDisk == 495)
        #expect(disk.rows.count == 495)
        #expect(await receipts.words().filter { $0 == "left" }.count == 495)

        let hold = Gate()
        let second = ServiceBench(inbox: SpyInbox(disk), settings: Self.settings(40)) { _, _ in await hold.wait() }
        let (_, again) = await second.open()
        try await second.calls(5)
        let status = second.service.status
        #expect(status.messages <= 40, "no more is read into memory than there are places")
        #expect(status.messages + status.onDisk == 495)
        hold.open()
        try await until { disk.rows.isEmpty }
        let numbers = second.log.events.compactMap { Int($0.dropFirst(2)) }
        for lane in 0..<5 { #expect(numbers.filter { $0 % 5 == lane } == (5..<500).filter { $0 % 5 == lane }) }
        #expect(try await second.close(again) == DrainReport())
    }

    @Test("an inbox that cannot be read is asked again, with pauses that grow, and keeps the order")
    func readFails() async throws {
        let times = EventLog()
        let clock = ManualClock()
        let inbox = SpyInbox { _, what in
            guard what.hasPrefix("read") else { return false }
            times.add("\(clock.now.nanoseconds / 1_000_000)")
            return times.events.count < 5
        }
        let (bench, intake, run) = await ServiceBench(inbox: inbox, settings: Self.settings(8), clock: clock).opened()
        let receipts = try intake.submit((0..<60).map { ServiceBench.payload($0) })
        try await bench.passTime { receipts.allSatisfy { $0.word == "handled" } }
        #expect(times.events.prefix(5) == ["0", "100", "300", "700", "1500"])
        #expect(bench.log.events == (0..<60).map { "r \($0)" })
        #expect(bench.told.events.filter { $0.contains("could not be read") }.count == 4)
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("what comes while others of its lane wait on disk, or are read, is not handled before them")
    func comesWhileRead() async throws {
        let (gate, mayRead) = (Gate(), Flag())
        let inbox = SpyInbox { _, what in what.hasPrefix("read") && !mayRead.isSet }
        let (bench, intake, run) = await ServiceBench(inbox: inbox, settings: Self.settings(20)) { message, _ in
            if message.number == 2 { await gate.wait() }
        }.opened()
        // Three have room in memory.
        var receipts = try intake.submit((0..<4).map { ServiceBench.payload($0) })
        try await until { receipts[1].word == "handled" }
        receipts += try intake.submit([ServiceBench.payload(4)])
        gate.open()
        try await until { bench.told.events.contains { $0.contains("could not be read") } }
        receipts += try intake.submit([ServiceBench.payload(5)])
        mayRead.set()
        try await bench.passTime { receipts.allSatisfy { $0.word == "handled" } }
        #expect(bench.log.events == (0..<6).map { "r \($0)" })
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("a service that is cancelled while an inbox cannot be read ends, and leaves what waits")
    func cancelledWhileReadFails() async throws {
        let inbox = SpyInbox { _, what in what.hasPrefix("read") }
        let (bench, intake, run) = await ServiceBench(inbox: inbox, settings: Self.settings(8)).opened()
        let receipts = try intake.submit((0..<60).map { ServiceBench.payload($0) })
        try await until {
            bench.told.events.contains { $0.contains("could not be read") } && receipts[0].word == "handled"
        }
        #expect(bench.service.status.onDisk == inbox.disk.rows.count && bench.service.status.messages == 0)
        run.cancel()
        let report = try await run.value
        #expect(report.left == inbox.disk.rows.count && report.left >= 50)
        #expect(receipts.last?.word == "left")
    }

    // MARK: Bounds

    @Test("beyond its bound the newest change of an object replaces the older ones, and other objects lose nothing")
    func replaces() async throws {
        let gate = Gate()
        let inbox = SpyInbox()
        let settings = Self.settings(8) { $0.messagesOnDisk = 58 }
        let (bench, intake, run) = await ServiceBench(inbox: inbox, settings: settings) { message, _ in
            if message.number < 1000 { await gate.wait() }
        }.opened()
        // 1 is in memory, 20 on disk; the 22nd replaces those 20, then 19 more have room, and so on.
        let receipts = try (0..<50).flatMap { try intake.submit([ServiceBench.payload($0)]) }
        try await until { receipts.filter { $0.word == "superseded" }.count == 40 }
        #expect(inbox.disk.rows.count == 10)
        let late = try intake.submit([ServiceBench.payload(2000, "p")])
        #expect(await intake.takeAndWait(ServiceBench.payload(2001, bucket: "quiet")) == "handled")
        gate.open()
        #expect(await late.words() == ["handled"])
        try await until { inbox.disk.rows.isEmpty }
        #expect(
            bench.log.events.filter { $0 != "r 2000" && $0 != "r 2001" }
                == [0, 41, 42, 43, 44, 45, 46, 47, 48, 49].map { "r \($0)" })
        #expect(bench.receiver.metrics.nonzero == ["handled: 12", "superseded: 40"])
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("however many changes are replaced at once, their ends are recorded in steps that others can wait for")
    func replacesInSteps() async throws {
        let gate = Gate()
        let inbox = SpyInbox()
        let settings = Self.settings(8) { $0.messagesOnDisk = 2998 }
        let bench = ServiceBench(inbox: inbox, settings: settings) { _, _ in await gate.wait() }
        let (intake, run) = await bench.open()
        // 1 is in memory, 1,000 on disk, and the last one replaces those.
        let receipts = try (0..<1002).flatMap { try intake.submit([ServiceBench.payload($0)]) }
        try await until { receipts.filter { $0.word == "superseded" }.count == 1000 }
        let steps = inbox.log.events.map { $0.split(separator: ",").filter { $0.contains("ended") }.count }
        #expect(steps.reduce(0, +) == 1000 && steps.max() ?? 0 <= 128)
        gate.open()
        #expect(await receipts.suffix(1).map { $0 }.words() == ["handled"])
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("a change that comes late does not replace a newer one")
    func lateChange() async throws {
        let gate = Gate()
        let settings = Self.settings(4) { $0.messagesOnDisk = 7 }
        let bench = ServiceBench(inbox: SpyInbox(), settings: settings) { _, _ in await gate.wait() }
        let (intake, run) = await bench.open()
        let receipts = try [1, 10, 30, 20, 5].flatMap { try intake.submit([ServiceBench.payload($0)]) }
        #expect(await receipts[4].end()?.name == "superseded")
        gate.open()
        #expect(await receipts.words() == ["handled", "handled", "handled", "handled", "superseded"])
        #expect(bench.log.events == ["r 1", "r 10", "r 30", "r 20"])
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("what is no change of an object and has no room is a dead letter, and another topic loses nothing")
    func refused() async throws {
        let gate = Gate()
        let inbox = SpyInbox()
        let settings = Self.settings(8) {
            $0.bytesOnDisk = 28 * ServiceBench.topic(100, "noisy", sender: nil).bytes.count
        }
        let (bench, intake, run) = await ServiceBench(inbox: inbox, settings: settings) { message, _ in
            if message.number < 1000 { await gate.wait() }
        }.opened()
        var receipts: [Receipt] = []
        for number in 100..<150 {
            receipts.append(try await intake.submitWaiting(ServiceBench.topic(number, "noisy", sender: nil)))
        }
        try await until { receipts.filter { $0.word == "deadLettered (backlogFull)" }.count == 39 }
        #expect(await intake.takeAndWait(ServiceBench.topic(2000, "quiet", sender: nil)) == "handled")
        #expect(inbox.disk.rows.count == 11)
        gate.open()
        #expect(await receipts[..<11].map { $0 }.words() == Array(repeating: "handled", count: 11))
        #expect(bench.letters.letters().reduce(0) { $0 + $1.payload.bytes.count } > 0)
        #expect(bench.letters.letters().allSatisfy { $0.reason == .backlogFull && $0.routes == ["r"] })
        #expect(bench.log.events.filter { $0 != "r 2000" } == (100..<111).map { "r \($0)" })
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("what has no room is no dead letter if it was handled before, if one is stored already, or without a route")
    func refusedCopies() async throws {
        let gate = Gate()
        let settings = Self.settings(1) { $0.messagesOnDisk = 0 }
        let (bench, intake, run) = await ServiceBench(routes: [], inbox: SpyInbox(), settings: settings) { _, _ in }
            .opened()
        bench.receiver.onPushToUser(id: "r", topic: "noisy") { message, _ in
            if message.message.number > 1 { await gate.wait() }
        }
        func end(_ number: Int, _ topic: String = "noisy") async -> String {
            await intake.takeAndWait(ServiceBench.topic(number, topic, sender: nil))
        }
        #expect(await end(1) == "handled")
        let running = try await intake.submitWaiting(ServiceBench.topic(2, "noisy", sender: nil))
        try await until { bench.service.status.handling == 1 }
        #expect(await end(3) == "deadLettered (backlogFull)")
        for handled in [1, 3] { #expect(await end(handled) == "duplicate (done)") }
        #expect(await end(2) == "duplicate (inFlight)")
        #expect(await end(4, "other") == "unrouted (noRoute)")
        #expect(bench.letters.count == 1)
        gate.open()
        #expect(await running.end()?.name == "handled")
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("a bucket whose messages all wait to be tried again holds up no other bucket of its route")
    func retriesHoldNobodyUp() async throws {
        let delivery = DeliverySettings.with {
            ($0.attempts, $0.backoff, $0.maxBackoff) = (1000, .seconds(60), .seconds(60))
        }
        let bench = ServiceBench(inbox: SpyInbox(), settings: Self.settings(20), delivery: delivery) { message, _ in
            if message.number < 1000 { throw TestError() }
        }
        let (intake, run) = await bench.open()
        for number in 0..<200 {
            _ = try intake.submit([ServiceBench.payload(number, "o\(number)", bucket: "noisy")])
        }
        try await until { bench.service.status.retrying == 7 }
        let receipts = try (1000..<1100).flatMap { number in
            try intake.submit([ServiceBench.payload(number, "o", bucket: "b\(number % 50)")])
        }
        #expect(await receipts.words() == Array(repeating: "handled", count: 100))
        #expect(bench.service.status.messages == 7 && bench.service.status.onDisk == 193)
        run.cancel()
        #expect(try await run.value.left == 200)
    }

    @Test("the last free place is for whoever uses nothing yet")
    func lastPlace() {
        func keys(_ number: UInt64) -> ShareKeys {
            let key = ResourceKey(digest: DedupeKey(first: number, second: 1))
            return ShareKeys(route: key, group: key)
        }
        var capacity = Capacity(messages: 2, bytes: 100)
        capacity.add(Use(), keys(1))
        #expect(!capacity.hasRoom(Use(), keys(1)) && capacity.hasRoom(Use(), keys(2)))
        capacity.add(Use(), keys(2))
        #expect(!capacity.hasRoom(Use(), keys(3)))
        capacity.add(-Use(), keys(1))
        #expect(capacity.hasRoom(Use(), keys(3)) && !capacity.hasRoom(Use(), keys(2)))
    }

    // MARK: No room among the dead letters

    @Test("what finds no room among the dead letters waits on disk, blocks nobody, and is stored when there is room")
    func lettersFull() async throws {
        let inbox = SpyInbox()
        let letters = try InMemoryDeadLetterStore.full()
        let (bench, intake, run) = await ServiceBench(
            inbox: inbox, settings: Self.settings(10), delivery: .with { $0.attempts = 2 }, letters: letters
        ) { message, _ in
            if message.number < 1000 { throw TestError() }
        }.opened()
        let receipts = try (0..<50).flatMap { try intake.submit([ServiceBench.payload($0, "o\($0)")]) }
        try await bench.passTime { bench.service.status.onDisk == 49 && bench.service.status.messages == 1 }
        #expect(inbox.disk.rows.count == 50 && inbox.disk.inFlight.isEmpty && bench.service.status.isOpen)
        #expect(bench.service.status.failures.map { $0.contains("could not be dead-lettered") } == [true])
        #expect(await intake.takeAndWait(ServiceBench.payload(1000, "quiet")) == "handled")
        bench.transport.finish()
        letters.remove(1)
        try await bench.passTime { receipts.allSatisfy { $0.word == "deadLettered (failed)" } }
        #expect(try await run.value == DrainReport())
        #expect(bench.service.status == ServiceStatus() && inbox.disk.rows.isEmpty)
        #expect(letters.letters().map(\.attempts) == [2] && letters.letters()[0].summary?.count == 50)
        #expect(letters.letters()[0].cause == "TestError")
        #expect(bench.log.events.count == 101, "no handler runs again")
    }

    @Test("where one transport of two runs, it has all places")
    func oneOfTwo() async throws {
        let other = HandTransport()
        let gate = Gate()
        let bench = ServiceBench(settings: Self.settings(8), transports: [other]) { _, _ in await gate.wait() }
        let (intake, run) = await bench.open()
        _ = await other.intake()
        for number in 0..<4 { _ = try intake.submit([ServiceBench.payload(number)]) }
        #expect(throws: IntakeRefusal.self) { try intake.submit([ServiceBench.payload(4)]) }
        let called = Flag()
        intake.whenRoom { called.set() }
        #expect(!called.isSet)
        other.finish()
        try await until { (try? intake.submit([ServiceBench.payload(4)])) != nil }
        for number in 5..<8 { _ = try intake.submit([ServiceBench.payload(number)]) }
        gate.open()
        #expect(try await bench.close(run) == DrainReport())
        #expect(called.isSet)
    }
}
