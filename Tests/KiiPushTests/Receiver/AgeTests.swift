import Foundation
import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// What the wall clock shows at the beginning of a test.
private let dayOfTest: Int64 = 1_700_000_000_000

/// How old a message may be for a route, and what becomes of an older one.
@Suite(.timeLimit(.minutes(1)))
struct AgeTests {
    private let clock = ManualClock(wallNow: dayOfTest)
    private let store = SpyStore()
    private let letters = InMemoryDeadLetterStore()
    private let log = EventLog()

    /// Settings that take messages of 30 s, or of any age.
    private static func settings(_ maxAge: Duration? = .seconds(30)) -> DeliverySettings {
        .with { $0.maxAge = maxAge }
    }

    /// A receiver whose routes each have a limit, and let the next ones take the message too.
    private func receiver(
        _ routes: [(id: String, maxAge: Duration?)] = [("r", .seconds(30))], pace: RoutePace = .unlimited,
        act: @escaping @Sendable (PushMessage, HandlerContext) async throws -> Void = { _, _ in }
    ) -> PushReceiver {
        let receiver = PushReceiver(app: "0123abcd", clock: clock, deadLetters: letters) {
            Deduplicator(store: store, secret: .published, clock: clock)
            LoopGuard(clock: clock)
        }
        let log = log
        for route in routes {
            let delivery = Self.settings(route.maxAge)
            receiver.onAny(id: route.id, options: RouteOptions(then: .continue, pace: pace, delivery: delivery)) {
                message, context in
                log.add(context.route)
                try await act(message, context)
            }
        }
        return receiver
    }

    /// A payload that was sent so many seconds ago, and arrives now.
    private static func payload(sent seconds: Int64, topic: String = "alarm") -> RawPayload {
        PayloadFixture.pushToUser(topic: topic, sentAt: dayOfTest - seconds * 1000).payload(.long)
    }

    /// How many milliseconds ago a message was sent, by a right wall clock, and arrived; what the wall clock shows; and
    /// whether that is too old for a limit of 30 s.
    static let ages: [(name: String, sent: Int64?, arrived: Int64, wall: Int64?, isExpired: Bool)] = [
        ("sent just as long ago as it may be", 30_000, 0, dayOfTest, false),
        ("sent a moment before", 30_001, 0, dayOfTest, true),
        ("no time, arrived just as long ago", nil, 30_000, dayOfTest, false),
        ("no time, arrived a moment before", nil, 30_001, dayOfTest, true),
        ("sent in the future", -60_000, 0, dayOfTest, false),
        ("sent in the future, and waiting too long", -60_000, 31_000, dayOfTest, true),
        ("waiting for longer than it was sent ago", 5000, 31_000, dayOfTest, true),
        ("a clock without a date", 31_000, 0, nil, false), ("a clock without a date, waiting", 0, 31_000, nil, true),
        ("a wall clock in 1970", 31_000, 0, 86_400_000, false),
        ("a wall clock in 1970, waiting", nil, 31_000, 86_400_000, true),
        ("no time, taken down in 1970", nil, dayOfTest - 1000, dayOfTest, false),
        ("new, and taken down in 1970", 1000, dayOfTest - 1000, dayOfTest, false),
        ("old, and taken down in 1970", 31_000, dayOfTest - 1000, dayOfTest, true),
        ("sent before all time", .max, 0, dayOfTest, true),
    ]

    @Test("the age counts from sending, else from arrival", arguments: ages)
    func judged(_ age: (name: String, sent: Int64?, arrived: Int64, wall: Int64?, isExpired: Bool)) async {
        clock.wallNow = age.wall
        let sentAt = age.sent.map { $0 == .max ? Int64.min : dayOfTest - $0 }
        let payload = PayloadFixture.pushToUser(sentAt: sentAt).payload(.long)
        let arrivedAt = clock.now.advanced(by: .milliseconds(-age.arrived))
        let outcome = await receiver().receive(payload.arrived(at: arrivedAt))
        #expect(outcome.description == (age.isExpired ? "expired" : "handled"), "\(age.name)")
        #expect(log.events == (age.isExpired ? [] : ["r"]))
    }

    @Test("a route without a limit takes a message of any age, and so does a clock without a date")
    func unlimited() async throws {
        #expect(await receiver([("r", nil)]).receive(Self.payload(sent: 1_000_000)).description == "handled")
        // Any clock of an embedder, made before there was a date to ask for.
        struct Undated: ReceiverClock {
            let clock: ManualClock
            var now: MonotonicInstant { clock.now }
            func sleep(until instant: MonotonicInstant) async throws { try await clock.sleep(until: instant) }
        }
        #expect(Undated(clock: clock).wallNow == nil)
    }

    @Test("the system's wall clock tells milliseconds")
    func milliseconds() throws {
        let before = Date().timeIntervalSince1970 * 1000
        let wall = Double(try #require(SystemClock().wallNow))
        #expect(wall >= before.rounded(.down) && wall <= Date().timeIntervalSince1970 * 1000)
    }

    @Test("an expired message is remembered, accepted, counted and traced")
    func settled() async throws {
        let receiver = receiver()
        let traces = TraceLog()
        receiver.onTrace(traces.add)
        let outcome = await receiver.receive(Self.payload(sent: 7200))
        #expect(outcome.name == "expired" && outcome.reason == nil && outcome.disposition == .accept)
        #expect(store.log.events == ["fresh", "commit"])
        #expect(await receiver.receive(Self.payload(sent: 7200)).description == "duplicate (done)")
        #expect(receiver.metrics.nonzero == ["duplicate done: 1", "expired: 1"])
        #expect(receiver.metrics.description == "duplicate (done): 1\nexpired: 1\nroute r: 1 expired")
        let trace = try #require(traces.traces.first)
        #expect(trace.routes == ["r"] && trace.handlers == [] && trace.expired == ["r"])
        #expect(trace.stages.last?.name == "handle r")
        #expect(trace.stages.last?.verdict == "expired: 2h old, maxAge 30s")
    }

    @Test("skips only the routes for which a message is too old")
    func several() async {
        let limits: [(id: String, maxAge: Duration?)] = [
            ("door", .seconds(30)), ("log", nil), ("light", .seconds(60)), ("news", .seconds(3600)),
        ]
        let receiver = receiver(limits)
        let traces = TraceLog()
        receiver.onTrace(traces.add)
        let outcome = await receiver.receive(Self.payload(sent: 120))
        guard case .handled(let routes) = outcome else { return #expect(Bool(false), "\(outcome)") }
        #expect(routes.ids == ["log", "news"] && log.events == ["log", "news"])
        #expect(traces.traces.first?.expired == ["door", "light"])
        #expect(receiver.metrics.routes.map(\.expired) == [1, 0, 1, 0])
        #expect(receiver.metrics.routes.map(\.handled) == [0, 1, 0, 1])
    }

    @Test("a failed handler decides the outcome; a skipped one is not retried")
    func failing() async {
        let receiver = receiver([("old", .seconds(30)), ("broken", nil)]) { _, _ in throw TestError() }
        let outcome = await receiver.receive(Self.payload(sent: 31))
        guard case .failed(let failure) = outcome else { return #expect(Bool(false), "\(outcome)") }
        #expect(failure.place == "broken" && failure.handled.isEmpty)
        #expect(log.events == ["broken"] && store.log.events.last == "release")
    }

    @Test("the age is checked when the handler would start")
    func late() async {
        let clock = clock
        let receiver = receiver([("slow", .seconds(30)), ("behind", .seconds(30))]) { _, context in
            if context.route == "slow" { clock.advance(by: .seconds(60)) }
        }
        #expect(await receiver.receive(Self.payload(sent: 1)).description == "handled")
        #expect(log.events == ["slow"])
        #expect(receiver.metrics.routes.map(\.expired) == [0, 1])
    }

    @Test("the age of a paced message is checked when it passes")
    func paced() async throws {
        let receiver = receiver(pace: .every(.seconds(6)))
        let test = try TestReceiver(receiver)
        for number in 0..<22 {
            let outcome = await test.send(Self.payload(sent: number == 21 ? 25 : -Int64(number))).outcome
            #expect(outcome.name == (number < 20 ? "handled" : "paced"))
        }
        #expect(await test.advance(by: .seconds(25)).map(\.outcome.name) == ["handled", "expired"])
        #expect(log.events.count == 21)
        #expect(store.log.events.filter { $0 == "commit" }.count == 22)
    }

    @Test("replays a dead letter of any age")
    func replayed() async throws {
        let receiver = receiver()
        _ = try letters.add(
            DeadLetter(payload: Self.payload(sent: 9999), reason: .failed, routes: ["r"], arrivedAt: clock.now))
        #expect(await receiver.replay(try #require(letters.letters().first)).description == "handled")
        #expect(log.events == ["r"] && letters.count == 0)
    }

    @Test("the wall clock of a manual clock goes on with it, jumps when it is set, and may know no date")
    func manual() {
        #expect(ManualClock().wallNow == nil)
        clock.advance(by: .milliseconds(1500))
        #expect(clock.wallNow == dayOfTest + 1500)
        clock.wallNow = 5
        clock.advance(by: .seconds(1))
        #expect(clock.wallNow == 1005)
        clock.wallNow = .max
        clock.advance(by: .seconds(1))
        #expect(clock.wallNow == .max)
        clock.wallNow = nil
        #expect(clock.wallNow == nil)
    }
}
