import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushRules
@testable import KiiPushTestSupport

/// What becomes of dead letters.
@Suite(.timeLimit(.minutes(1)))
struct DeadLetterTests {
    private let letters = InMemoryDeadLetterStore()

    /// A receiver whose handlers take down what they are called with, and throw while `isFailing` is set.
    private func receiver(
        _ routes: [String] = ["r"], clock: ManualClock = ManualClock(), isFailing: Flag = Flag(), log: EventLog
    ) -> PushReceiver {
        let receiver = PushReceiver(app: "0123abcd", clock: clock, deadLetters: letters)
        for id in routes {
            receiver.onAny(id: id, options: RouteOptions(then: .continue, pace: .every(.seconds(6)))) {
                message, context in
                log.add("\(context.route) \(message.number)")
                if isFailing.isSet { throw TestError() }
            }
        }
        return receiver
    }

    private func add(_ number: Int, _ routes: [String] = ["r"]) throws -> DeadLetter {
        let id = try letters.add(
            DeadLetter(payload: ServiceBench.payload(number), reason: .failed, routes: routes, arrivedAt: .seconds(0)))
        return try #require(letters.letters().first { $0.id == id })
    }

    @Test("a replay bypasses deduplication and pace, but not a kill")
    func replay() async throws {
        let (log, isFailing) = (EventLog(), Flag())
        let receiver = receiver(isFailing: isFailing, log: log)
        let loopGuard = try #require(receiver.loopGuard)
        for number in 1...20 { #expect(await receiver.receive(ServiceBench.payload(number)).name == "handled") }
        #expect(await receiver.receive(ServiceBench.payload(21)).name == "paced")
        let kept = [try add(1), try add(30)]
        loopGuard.kill(.everything, for: .seconds(60))
        #expect(await "\(receiver.replay(kept[0]))" == "looped (killSwitch)")
        #expect(letters.letters().count == 2)
        loopGuard.revive(.everything)
        #expect(await "\(receiver.replay(kept[1]))" == "handled")
        isFailing.set()
        #expect(await "\(receiver.replay(kept[0]))" == "failed (r)")
        isFailing.clear()
        #expect(letters.letters().map(\.id) == [1])
        #expect(await "\(receiver.replay(kept[0]))" == "handled")
        #expect(letters.letters().isEmpty)
        #expect(log.events.suffix(3) == ["r 30", "r 1", "r 1"])
        #expect(await receiver.receive(ServiceBench.payload(22)).name == "paced")
    }

    @Test("a store that has no capacity says what to do, also to one letter that is larger than all of it")
    func full() throws {
        let letter = DeadLetter(payload: RawPayload([1, 2]), reason: .failed, routes: [], arrivedAt: .seconds(0))
        for (bytes, end) in [(1, "give the store larger bounds"), (2, "1 dead letter of 2 bytes is kept already")] {
            let store = InMemoryDeadLetterStore(capacity: 9, bytes: bytes)
            let error = #expect(throws: DeadLettersFull.self) { for _ in 0..<2 { _ = try store.add(letter) } }
            #expect(error?.description.contains(end) == true)
        }
    }

    @Test("a letter that was merged with another during its replay stays")
    func mergedMeanwhile() async throws {
        let store = InMemoryDeadLetterStore(capacity: 10)
        @Sendable func add(_ number: Int) throws {
            var letter = DeadLetter(
                payload: ServiceBench.payload(number), reason: .failed, routes: ["r"], arrivedAt: .seconds(0))
            letter.keys = [DedupeKey(first: 1, second: 1)]
            _ = try store.add(letter)
        }
        let receiver = PushReceiver(app: "0123abcd", deadLetters: store)
        receiver.onAny(id: "r") { message, _ in if message.number == 1 { try add(2) } }
        try add(1)
        #expect(await receiver.replay(try #require(store.letters().first)).name == "handled")
        let left = try #require(store.letters().first)
        #expect(left.count == 2 && left.payload.bytes == ServiceBench.payload(2).bytes)
        #expect(await receiver.replay(left).name == "handled")
        #expect(store.letters().isEmpty)
    }

    @Test("a route that has handled a dead letter in a replay is not run by the next replay", arguments: [true, false])
    func secondReplay(isUndecodable: Bool) async throws {
        let (log, isFailing) = (EventLog(), Flag())
        isFailing.set()
        let receiver = PushReceiver(app: "0123abcd", deadLetters: letters)
        for id in ["a", "b"] {
            receiver.onAny(id: id, options: .continue) { _, _ in
                log.add(id)
                if id == "b", isFailing.isSet { throw TestError() }
            }
        }
        _ = try letters.add(
            DeadLetter(
                payload: ServiceBench.payload(1), reason: isUndecodable ? .undecodable : .failed,
                routes: isUndecodable ? [] : ["a", "b"], arrivedAt: .seconds(0)))
        #expect(await "\(receiver.replay(try #require(letters.letters().first)))" == "failed (b)")
        #expect(letters.letters().map(\.routes) == [["b"]])
        isFailing.clear()
        #expect(await "\(receiver.replay(try #require(letters.letters().first)))" == "handled")
        #expect(log.events == ["a", "b", "b"] && letters.count == 0)
    }

    @Test("dead letters that name no sender, or came by no transport, have a tenth of the store like any others")
    func shareWithoutGroup() throws {
        let receiver = PushReceiver(deadLetters: InMemoryDeadLetterStore(capacity: 40))
        let message = receiver.prepare(try PushMessage(PayloadFixture.directPush(recipient: nil).payload(.long)))
            .message
        for _ in 1...6 { _ = receiver.deadLetter(message, .failed, ["r"]) }
        let unread = DeadLetter(payload: RawPayload("x"), reason: .undecodable, routes: [], arrivedAt: .seconds(0))
        for _ in 1...6 {
            var letter = unread
            letter.keys = DeadLetter.keys(undecodable: letter.payload)
            _ = try receiver.deadLetters.add(letter)
        }
        #expect(try receiver.deadLetters.letters().map(\.count) == [1, 1, 1, 3, 1, 1, 1, 3])
    }

    @Test("an undecodable letter is replayed to all routes once it can be decoded")
    func undecodable() async throws {
        let letters = InMemoryDeadLetterStore()
        let log = EventLog()
        func receiver(_ limits: PayloadLimits, topic: TextPattern = "news") -> PushReceiver {
            let receiver = PushReceiver(limits: limits, deadLetters: letters)
            for id in ["a", "b"] {
                receiver.onPushToUser(id: id, topic: topic, options: .continue) { _, _ in log.add(id) }
            }
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

    @Test("listeners hear of each letter once, with its number")
    func listener() async throws {
        let told = EventLog()
        let receiver = receiver(log: EventLog())
        let token = receiver.onDeadLetter { told.add("\($0)") }
        for number in 1...2 {
            let message = receiver.prepare(try PushMessage(ServiceBench.payload(number))).message
            #expect(receiver.deadLetter(message, .killSwitch, ["r"]) == .deadLettered(.killSwitch))
        }
        let size = ServiceBench.payload(2).bytes.count
        #expect(told.events == [1, 2].map { "dead letter \($0): killSwitch, r, \(size) bytes" })
        let store: any DeadLetterStore = letters
        #expect(try store.count == 2 && CountedByReading(letters: letters.letters()).count == 2)
        token.remove()
        _ = await receiver.replay(try #require(letters.letters().first))
        #expect(told.events.count == 2 && letters.count == 1)
    }

    @Test("listeners hear nothing of a refused letter", arguments: [-1, 0])
    func refusedLetter(capacity: Int) throws {
        let receiver = PushReceiver(deadLetters: InMemoryDeadLetterStore(capacity: capacity))
        receiver.onDeadLetter { Issue.record("\($0)") }
        let message = receiver.prepare(try PushMessage(ServiceBench.payload(1))).message
        let outcome = receiver.deadLetter(message, .killSwitch, ["r"])
        #expect("\(outcome)" == "failed (deadLetters)" && outcome.disposition == .retryLater)
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
