import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushDelivery
@testable import KiiPushTestSupport

/// Whether a service says what a payload would meet.
@Suite(.oneByOne, .timeLimit(.minutes(5)))
struct ServiceHealthTests {
    @Test(
        "an inbox that refuses payloads makes a service that accepts none, from the first refusal to the next success")
    func refusing() async throws {
        let inbox = SpyInbox()
        let (bench, intake, run) = await ServiceBench(inbox: inbox).opened()
        #expect(bench.service.status.isOpen && bench.service.status.failures == [])
        inbox.fail { _, what in what.hasPrefix("add") || what == "check" }
        #expect(throws: IntakeRefusal.self) { try intake.submit([ServiceBench.payload(1)]) }
        #expect(!bench.service.status.isOpen)
        #expect(bench.service.status.failures.first?.hasPrefix("the inbox could not store 1 payload: ") == true)
        bench.service.checkInbox()
        #expect(!bench.service.status.isOpen)
        inbox.fail { _, _ in false }
        #expect(await intake.takeAndWait(ServiceBench.payload(1)) == "handled")
        #expect(bench.service.status.isOpen && bench.service.status.failures == [])
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("a check finds out, although no payload comes, and is told once")
    func idle() async throws {
        let inbox = SpyInbox()
        let bench = ServiceBench(inbox: inbox)
        bench.service.checkInbox()
        #expect(inbox.count == 0, "before it runs there is nothing to check")
        let (_, run) = await bench.open()
        inbox.fail { _, what in what == "check" }
        for _ in 1...3 { bench.service.checkInbox() }
        #expect(!bench.service.status.isOpen)
        #expect(bench.told.events.count { $0.contains("the inbox cannot store payloads") } == 1)
        inbox.fail { _, _ in false }
        bench.service.checkInbox()
        #expect(bench.service.status.isOpen && bench.service.status.failures == [])
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("dead letters that had no room are no failure once one is dropped or replayed", arguments: [true, false])
    func lettersDropped(isReplayed: Bool) async throws {
        let letters = InMemoryDeadLetterStore(capacity: 1)
        let bench = ServiceBench(inbox: SpyInbox(), letters: letters)
        let letter = try bench.addLetter()
        let (intake, run) = await bench.open()
        #expect(await intake.takeAndWait(RawPayload("no push")).hasPrefix("undecodable"))
        #expect(bench.service.status.failures.map { $0.contains("could not be dead-lettered") } == [true])
        if isReplayed {
            #expect(await bench.service.replay(letter).name == "handled")
        } else {
            #expect(try bench.service.drop(letter))
        }
        #expect(bench.service.status.failures == [])
        #expect(try await bench.close(run) == DrainReport())
    }

    @Test("an outcome that cannot be recorded is a failure, and is tried again with pauses that double")
    func recording() async throws {
        let inbox = SpyInbox()
        let (bench, intake, run) = await ServiceBench(inbox: inbox).opened()
        func tries() -> Int { inbox.log.events.filter { $0.hasPrefix("ended 1?") }.count }
        inbox.fail { _, what in what == "ended 1" }
        let receipt = try intake.submit([ServiceBench.payload(1)])[0]
        try await until { !bench.service.status.failures.isEmpty }
        #expect(bench.service.status.isOpen, "payloads are still accepted")
        #expect(bench.service.status.failures.first?.hasPrefix("the inbox could not record") == true)
        #expect(await intake.takeAndWait(ServiceBench.payload(2, "o2")) == "handled", "others are recorded")
        inbox.fail { _, what in what == "ended 1" || what.hasPrefix("add") }
        #expect(throws: IntakeRefusal.self) { try intake.submit([ServiceBench.payload(3, "p")]) }
        #expect(!bench.service.status.isOpen)
        let start = bench.clock.now
        try await bench.passTime { tries() == 4 }
        #expect(start.duration(to: bench.clock.now) >= .milliseconds(100 + 200 + 400))
        #expect(bench.service.status.failures.count == 2)
        inbox.fail { _, _ in false }
        bench.service.checkInbox()
        try await bench.passTime { receipt.word == "handled" }
        try await until { bench.service.status.failures == [] }
        #expect(try await bench.close(run) == DrainReport())
    }
}
