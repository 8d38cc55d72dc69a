import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushDelivery
@testable import KiiPushTestSupport

/// How many writes the handlers of a route may declare.
@Suite(.timeLimit(.minutes(1)))
struct WriteBudgetTests {
    private static let object = KiiObject(bucket: KiiBucket(scope: .app, name: "state"), id: "s")

    /// Sends messages to a route whose handler declares a write for each; returns how many of them were refused.
    private static func refused(
        _ count: Int, _ receiver: PushReceiver, from first: Int, topic: String = "a"
    ) async -> Int {
        var refused = 0
        for number in first..<first + count {
            let outcome = await receiver.receive(ServiceBench.topic(number, "\(topic)\(number)", sender: nil))
            if case .failed(let failure) = outcome, failure.error is WriteBudgetSpent { refused += 1 }
        }
        return refused
    }

    private static func receiver(_ clock: ManualClock, _ pace: RoutePace = .standard) -> PushReceiver {
        let receiver = PushReceiver(clock: clock)
        for topic in ["a", "b"] {
            receiver.onPushToUser(id: topic, topic: TextPattern("\(topic)*"), options: RouteOptions(pace: pace)) {
                message, context in
                if message.message.number % 2 == 0 {
                    _ = try context.willWrite(object)
                } else {
                    _ = try context.willCreate(in: object.bucket)
                }
            }
        }
        return receiver
    }

    @Test("a route may declare twenty writes at once, and one more every ten seconds; each route has its own")
    func numbers() async {
        let clock = ManualClock()
        let receiver = Self.receiver(clock)
        #expect(await Self.refused(25, receiver, from: 1) == 5)
        #expect(await Self.refused(20, receiver, from: 101, topic: "b") == 0)
        for (seconds, more) in [(9, 0), (2, 1), (30, 3), (600, 20)] {
            clock.advance(by: .seconds(seconds))
            #expect(await Self.refused(more + 2, receiver, from: 1000 + seconds * 100) == 2, "after \(seconds)")
        }
    }

    @Test("messages whose handlers write at once are counted once each")
    func interleaved() throws {
        let loopGuard = LoopGuard(clock: ManualClock())
        for _ in 0..<30 {
            for message in 1...20 { try loopGuard.spendWrite(of: "r", for: UInt64(message)) }
        }
        #expect(throws: WriteBudgetSpent.self) { try loopGuard.spendWrite(of: "r", for: 21) }
    }

    @Test("an unlimited route, and a guard with its pace off, count no writes", arguments: [true, false])
    func unlimited(isRoute: Bool) async {
        let receiver = Self.receiver(ManualClock(), isRoute ? .unlimited : .standard)
        if !isRoute { receiver.loopGuard?.settings.layers.remove(.pace) }
        #expect(await Self.refused(50, receiver, from: 1) == 0)
    }

    @Test("the error names the route and what lifts it")
    func description() {
        let error = WriteBudgetSpent(route: "settings\n", endsAt: .seconds(10))
        #expect("\(error)".contains("settings\\n") && "\(error)".contains("\"pace\": \"unlimited\""))
        #expect(error as Any is any ResourceShortage)
    }

    @Test("a service runs each refused handler once more, when it may write, and counts no attempt")
    func service() throws {
        let (clock, runs) = (ManualClock(), EventLog())
        let receiver = PushReceiver(clock: clock) { LoopGuard() }
        receiver.onAny(id: "r") { message, context in
            runs.add("\(message.number)")
            _ = try context.willWrite(Self.object)
        }
        let delivery = DeliverySettings.with { ($0.attempts, $0.order) = (1, .none) }
        let test = try TestService(receiver, delivery: delivery)
        let receipts = try (1...30).map { try test.send(ServiceBench.topic($0, "t\($0)", sender: nil)) }
        let handled = { receipts.count { $0.word == "handled" } }
        #expect(handled() == 20 && test.service.status.retrying == 10)
        for more in 1...10 {
            test.advance(by: .milliseconds(9990))
            #expect(handled() == 20 + more - 1)
            test.advance(by: .milliseconds(10))
            #expect(abs(handled() - 20 - more) <= 1)
        }
        test.advance(by: .seconds(1))
        #expect(handled() == 30 && runs.events.count == 40)
    }

    @Test("the guard reports a route whose writes wait, once a minute, and how many wait")
    func reported() throws {
        let (clock, news) = (ManualClock(), EventLog())
        let loopGuard = LoopGuard(clock: clock)
        loopGuard.onPaced { news.add("\($0.level.rawValue) \($0.route)") }
        clock.advance(by: .seconds(5))
        for message in 1...24 { try? loopGuard.spendWrite(of: "r", for: UInt64(message)) }
        clock.advance(by: .seconds(1))
        try? loopGuard.spendWrite(of: "r", for: 25)
        #expect(news.events == ["writes r"] && loopGuard.paced.map(\.waiting) == [5])
        #expect(loopGuard.paced.map { Int($0.since.seconds) } == [5])
        let sentence = try #require(loopGuard.paced.first?.sentence)
        #expect(sentence.contains("route r write for many messages") && sentence.contains("\"pace\": \"unlimited\""))
        clock.advance(by: .seconds(51))
        #expect(loopGuard.paced.isEmpty)
        for message in 30...40 { try? loopGuard.spendWrite(of: "r", for: UInt64(message)) }
        #expect(news.events.count == 1)
        clock.advance(by: .seconds(9))
        for message in 41...42 { try? loopGuard.spendWrite(of: "r", for: UInt64(message)) }
        #expect(news.events.count == 2)
    }

    @Test("a known route keeps its budget when all others have one too; at a further one, all begin anew")
    func full() throws {
        let loopGuard = LoopGuard(clock: ManualClock())
        for message in 1...20 { try loopGuard.spendWrite(of: "r", for: UInt64(message)) }
        for route in 2...Paces.mostRoutes { try loopGuard.spendWrite(of: "r\(route)", for: 100) }
        #expect(throws: WriteBudgetSpent.self) { try loopGuard.spendWrite(of: "r", for: 21) }
        try loopGuard.spendWrite(of: "further", for: 100)
        try loopGuard.spendWrite(of: "r", for: 22)
    }
}
