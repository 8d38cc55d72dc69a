import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushRules

/// What is dead-lettered since it could not be held, and what becomes of it.
@Suite(.timeLimit(.minutes(1)))
struct DeadLetterTests {
    @Test("beyond a hundred of a key the newest is dead-lettered; when one has gone there is room again")
    func fullKey() async {
        let bench = HoldingBench(isTopic: true)
        bench.loopGuard.heldBudget.messagesPerKey = 100
        _ = await bench.send(0)
        for number in 1...100 { #expect(await bench.send(number) == "held (rate)") }
        #expect(await bench.send(101) == "deadLettered (heldFull)")
        #expect(await bench.send(101) == "duplicate (done)")
        #expect(bench.receiver.held.count == 100)
        #expect(bench.receiver.held.last?.message.benchNumber == 100)
        #expect(bench.receiver.dropHeld { $0.message.benchNumber == 50 } == 1)
        #expect(await bench.send(102) == "held (rate)")
        #expect(bench.letters.letters().map { $0.payload } == [bench.payload(101)])
        #expect(bench.letters.letters().map(\.reason) == [.holdLimitReached])
        #expect(
            bench.receiver.metrics.nonzero == [
                "handled: 1", "duplicate done: 1", "looped rate: 1", "held rate: 100", "deadLettered heldFull: 1",
            ])
        #expect(bench.leases == 100)
    }

    @Test("of an object the newest change takes the place of the oldest that is held, which ends as superseded")
    func newestStays() async {
        let bench = HoldingBench()
        bench.loopGuard.heldBudget.messagesPerKey = 3
        _ = await bench.send(0)
        for number in 1...4 { #expect(await bench.send(number) == "held (rate)") }
        #expect(bench.receiver.held.map { $0.message.modifiedAt } == [2, 3, 4])
        #expect(bench.letters.letters().isEmpty)
        #expect(bench.receiver.metrics.nonzero == ["handled: 1", "held rate: 3", "superseded: 1"])
        #expect(await bench.send(1) == "duplicate (done)")
    }

    @Test("beyond a thousand in all it is the same, whatever their keys")
    func fullInAll() async {
        let bench = HoldingBench(isTopic: true)
        bench.loopGuard.heldBudget.messages = 1000
        for object in 0..<11 { #expect(await bench.send(0 + object * 1000, "o\(object)") == "handled") }
        for object in 0..<10 {
            for number in 1...100 { #expect(await bench.send(object * 1000 + number, "o\(object)") == "held (rate)") }
        }
        #expect(await bench.send(10_001, "o10") == "deadLettered (heldFull)")
        #expect(bench.receiver.held.count == 1000)
        bench.receiver.dropHeld { $0.message.topic?.name == "o3" }
        for number in 2...101 { #expect(await bench.send(10_000 + number, "o10") == "held (rate)") }
        #expect(await bench.send(10_200, "o10") == "deadLettered (heldFull)")
        #expect(bench.receiver.metrics.received == 11 + 1000 + 1 + 100 + 1)
    }

    @Test("beyond eight mebibytes in all it is the same, and what goes gives its bytes back")
    func fullBytes() async {
        let bench = HoldingBench()
        bench.loopGuard.heldBudget.bytes = 8 << 20
        let filler = String(repeating: "x", count: 60_000)
        func send(_ number: Int, _ object: String) async -> String {
            var fixture = PayloadFixture.pushToUser(topic: object, sentAt: Int64(number))
            fixture.data = [("filler", .string(filler))]
            return await bench.receiver.receive(fixture.payload(.long)).description
        }
        for object in 0..<2 { _ = await send(object * 1000, "o\(object)") }
        var held = 0
        while held < 200, await send(1 + held + held / 90 * 1000, "o\(held / 90)") == "held (rate)" { held += 1 }
        let bytes = bench.receiver.held.reduce(0) { $0 + $1.message.raw.bytes.count }
        #expect(bytes <= 8 << 20)
        #expect(bytes > (8 << 20) - 61_000)
        #expect(bench.letters.letters().map(\.reason) == [.holdLimitReached])
        #expect(bench.receiver.dropHeld { $0.id == 1 } == 1)
        #expect(await send(5000, "o1") == "held (rate)")
        #expect(await send(5001, "o1") == "deadLettered (heldFull)")
        bench.receiver.dropHeld()
        for number in 0..<90 { #expect(await send(6000 + number, "o0") == "held (rate)") }
    }

    @Test("where the dead letters are full too, the message has failed and is delivered again later")
    func fullStore() async throws {
        let letters = InMemoryDeadLetterStore(capacity: 1)
        _ = try letters.add(
            DeadLetter(payload: RawPayload("x"), reason: .failed, routes: [], arrivedAt: .seconds(0)))
        let bench = HoldingBench(letters: letters, isTopic: true)
        bench.loopGuard.heldBudget.messagesPerKey = 100
        _ = await bench.send(0)
        for number in 1...100 { _ = await bench.send(number) }
        let outcome = await bench.receiver.receive(bench.payload(102))
        #expect("\(outcome)" == "failed (deadLetters)")
        #expect(outcome.disposition == .retryLater)
        // One that is killed finds no room either; it is not lost but delivered again.
        let ends = EndLog(Array(bench.receiver.held.prefix(1)))
        bench.loopGuard.kill(.everything, for: .seconds(1))
        #expect(await ends.ends() == ["1: failed (deadLetters)"])
        #expect(bench.leases == 0)
        #expect(bench.receiver.metrics.nonzero == ["handled: 1", "failed stage: 101"])
        bench.wait(120)
        #expect(await bench.handleDue().isEmpty)
        #expect(await bench.send(102) == "handled")
    }

    @Test(
        "a letter is replayed past the deduplicator and the breakers, but not past a kill, and goes when it is handled")
    func replay() async throws {
        let bench = HoldingBench()
        _ = await bench.send(1)
        for number in 2...3 { _ = await bench.send(number) }
        bench.loopGuard.kill(.everything, for: .seconds(60))
        let letters = bench.letters.letters()
        #expect(letters.map(\.reason) == [.killSwitch, .killSwitch])
        #expect(letters.map(\.id) == [1, 2])
        #expect(letters.map(\.arrivedAt) == [.seconds(0), .seconds(0)])
        #expect(await "\(bench.receiver.replay(letters[0]))" == "looped (killSwitch)")
        #expect(bench.letters.letters().count == 2)
        bench.loopGuard.revive(.everything)
        #expect(await "\(bench.receiver.replay(letters[1]))" == "handled")
        bench.isFailing.set()
        #expect(await "\(bench.receiver.replay(letters[0]))" == "failed (r)")
        bench.isFailing.clear()
        #expect(bench.letters.letters().map(\.id) == [1])
        #expect(await "\(bench.receiver.replay(letters[0]))" == "handled")
        #expect(bench.letters.letters().isEmpty)
        #expect(bench.log.events == ["r 1", "r 3", "r 2", "r 2"])
        #expect(await bench.send(2) == "duplicate (done)")
        #expect(await bench.send(4) == "held (rate)")
        #expect(bench.receiver.metrics.received == 1 + 2 + 4 + 2)
    }

    @Test("a letter is replayed to the routes that did not handle it, and to none that it does not name")
    func routes() async throws {
        let bench = HoldingBench([("a", .standard), ("b", .standard), ("c", .standard)])
        func replay(_ routes: [String]) async throws -> String {
            let id = try bench.letters.add(
                DeadLetter(payload: bench.payload(1), reason: .failed, routes: routes, arrivedAt: .seconds(0)))
            let letter = try #require(bench.letters.letters().last)
            #expect(letter.id == id)
            return await bench.receiver.replay(letter).description
        }
        #expect(try await replay(["b"]) == "handled")
        #expect(try await replay(["c", "a", "gone"]) == "handled")
        #expect(try await replay(["gone"]) == "unrouted (noRoute)")
        #expect(try await replay([]) == "unrouted (noRoute)")
        #expect(bench.log.events == ["b 1", "a 1", "c 1"])
        #expect(bench.letters.letters().map(\.routes) == [["gone"], []])
    }

    @Test("a letter that could not be decoded is replayed to all routes that take it, once it can be")
    func undecodable() async throws {
        let letters = InMemoryDeadLetterStore()
        let log = EventLog()
        func receiver(_ limits: PayloadLimits, topic: TextPattern = "news") -> PushReceiver {
            let receiver = PushReceiver(limits: limits, deadLetters: letters)
            for id in ["a", "b"] { receiver.onPushToUser(id, topic: topic, options: .continue) { _, _ in log.add(id) } }
            return receiver
        }
        let payload = PayloadFixture.pushToUser(topic: "news").payload(.long)
        _ = try letters.add(DeadLetter(payload: payload, reason: .undecodable, routes: [], arrivedAt: .seconds(0)))
        let letter = try #require(letters.letters().first)
        let small = receiver(PayloadLimits(bytes: 16))
        #expect(await small.replay(letter).description == "undecodable (limitExceeded)")
        #expect(await receiver(.standard, topic: "other").replay(letter).description == "unrouted (noRoute)")
        #expect(letters.count == 1 && log.events == [])
        #expect(await receiver(.standard).replay(letter).description == "handled")
        #expect(letters.count == 0 && log.events == ["a", "b"])
    }

    @Test("who listens is told of each letter once, with its number, and the store counts them")
    func listener() async throws {
        let bench = HoldingBench()
        let told = EventLog()
        let token = bench.receiver.onDeadLetter { told.add("\($0)") }
        for number in 1...3 { _ = await bench.send(number) }
        #expect(told.events.isEmpty && bench.letters.count == 0)
        bench.loopGuard.kill(.everything, for: .seconds(60))
        let size = bench.payload(2).bytes.count
        #expect(told.events == [1, 2].map { "dead letter \($0): killSwitch, r, \(size) bytes" })
        let store: any DeadLetterStore = bench.letters
        #expect(try store.count == 2 && CountedByReading(letters: bench.letters.letters()).count == 2)
        token.remove()
        bench.loopGuard.revive(.everything)
        _ = await bench.receiver.replay(try #require(bench.letters.letters().first))
        #expect(told.events.count == 2 && bench.letters.count == 1)
    }

    @Test("who listens is told nothing of a letter that the store refused")
    func refusedLetter() async {
        let bench = HoldingBench(letters: InMemoryDeadLetterStore(capacity: 0))
        bench.receiver.onDeadLetter { Issue.record("\($0)") }
        for number in 1...2 { _ = await bench.send(number) }
        bench.loopGuard.kill(.everything, for: .seconds(60))
        #expect(bench.letters.count == 0 && bench.receiver.metrics.nonzero == ["handled: 1", "failed stage: 1"])
    }

    @Test("receivers of either making put letters into the store that they were given")
    func givenStore() throws {
        let store = InMemoryDeadLetterStore()
        let rules = try RoutingRules(#"{"version":1,"rules":[]}"#)
        for receiver in [PushReceiver(deadLetters: store), PushReceiver(rules: rules, deadLetters: store)] {
            #expect(receiver.deadLetters as? InMemoryDeadLetterStore === store)
        }
    }

    @Test("the store refuses what has no room, and has it again when a letter goes", arguments: [-1, 0, 1, 3])
    func bounds(capacity: Int) throws {
        let letter = DeadLetter(payload: RawPayload("12345"), reason: .failed, routes: [], arrivedAt: .seconds(0))
        let store = InMemoryDeadLetterStore(capacity: capacity, bytes: 12)
        let room = min(max(capacity, 0), 2)
        for number in 0..<room { #expect(try store.add(letter) == UInt64(number + 1)) }
        #expect(throws: DeadLettersFull.self) { try store.add(letter) }
        #expect(!store.remove(99))
        guard room > 0 else { return }
        #expect(store.remove(1))
        #expect(!store.remove(1))
        #expect(try store.add(letter) == UInt64(room + 1))
        #expect(throws: DeadLettersFull.self) { try store.add(letter) }
    }
}

/// A store that was made before there were counts.
private struct CountedByReading: DeadLetterStore {
    let kept: [DeadLetter]

    init(letters: [DeadLetter]) { kept = letters }

    func add(_ letter: DeadLetter) throws -> UInt64 { throw TestError() }
    func letters() -> [DeadLetter] { kept }
    func remove(_ id: UInt64) -> Bool { false }
}
