import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// What a deduplicator adds to its store, whose windows the contract of a seen store judges.
struct DeduplicatorTests {
    private let clock = LooseClock(0)
    private let deduplicator: Deduplicator
    private let strong = PayloadFixture.pushToApp().payload(.long)
    private let weak = PayloadFixture.directPush().payload(.long)

    init() { deduplicator = Deduplicator(clock: clock) }

    /// Sends a message through, ends it if it passes, and returns whether it passed.
    private func isPassed(_ payload: RawPayload, at time: Duration, _ other: Deduplicator? = nil) throws -> Bool {
        let deduplicator = other ?? deduplicator
        clock.now = MonotonicInstant(nanoseconds: 0).advanced(by: time)
        return try deduplicator.judge(RoutedMessage(payload.arrived(at: clock.now))) == .pass
    }

    @Test("the defaults are ten minutes, 20,000 messages and five seconds; a store without counts reports none")
    func defaults() {
        #expect(SeenWindow.standard == SeenWindow(age: .seconds(600), count: 20_000, weakAge: .seconds(5)))
        #expect(Deduplicator(store: SpyStore(), secret: .published).counts.store == nil)
    }

    @Test("keys depend on the deduplicator's secret")
    func secrets() throws {
        let store = InMemorySeenStore()
        for (secret, isNew) in [(DedupeSecret(1, 2), true), (DedupeSecret(1, 2), false), (DedupeSecret(3, 4), true)] {
            let deduplicator = Deduplicator(store: store, secret: secret, clock: clock)
            #expect(try isPassed(strong, at: .zero, deduplicator) == isNew)
        }
    }

    @Test("a copy that arrived with the message is a duplicate, however late it is judged", arguments: [70, 630])
    func lateCopy(seconds: Int64) throws {
        let store = InMemorySeenStore(window: SeenWindow(age: .seconds(60)))
        let deduplicator = Deduplicator(store: store, secret: .published, clock: clock)
        let payload = strong.arrived(at: .seconds(0))
        var (message, copy) = (try RoutedMessage(payload), try RoutedMessage(payload))
        #expect(try deduplicator.admit(&message) == .pass)
        clock.now = .seconds(seconds)
        deduplicator.settle(message, .handled(MatchedRoutes()))
        copy.admittedAt = clock.now
        #expect(try deduplicator.admit(&copy) == .drop(.duplicate))
    }

    @Test("accepts times at the ends of the clock's range", arguments: [Int64.min, Int64.max - 1])
    func extremes(nanoseconds: Int64) throws {
        for payload in [strong, weak] {
            let time = Duration.nanoseconds(nanoseconds)
            #expect(try isPassed(payload, at: time))
            #expect(try !isPassed(payload, at: time))
        }
    }
}

/// Ends of messages that a store did not take.
@Suite(.timeLimit(.minutes(1)))
struct UnreportedEndsTests {
    private let clock = ManualClock()

    private func deduplicator(_ store: FaultyStore, _ policy: Deduplicator.StoreFailure = .failOpen) -> Deduplicator {
        Deduplicator(store: store, secret: .published, onStoreFailure: policy, clock: clock)
    }

    private func message(_ number: Int64, isWeak: Bool = false) throws -> RoutedMessage {
        let weak = PayloadFixture.directPush(data: [("text", .string("\(number)"))])
        let fixture = isWeak ? weak : .pushToApp(sentAt: number, modifiedAt: nil)
        return try RoutedMessage(fixture.payload(.long).arrived(at: clock.now))
    }

    private static let handled = Outcome.handled(MatchedRoutes())

    /// Sends a message through, and ends it if it passes.
    @discardableResult
    private func send(
        _ number: Int64, _ deduplicator: Deduplicator, _ outcome: Outcome = handled, isWeak: Bool = false
    ) throws -> Verdict {
        try deduplicator.judge(message(number, isWeak: isWeak), outcome)
    }

    @Test("a late commit counts from the message's end")
    func lateWeak() throws {
        let deduplicator = deduplicator(FaultyStore(.init(calls: [.commit], isForEver: false)))
        try send(1, deduplicator, isWeak: true)
        clock.advance(by: .seconds(5))
        #expect(try send(1, deduplicator, isWeak: true) == .pass)
    }

    @Test("no lease is given while commits fail, which bounds the unreported ends")
    func bound() throws {
        for policy in [Deduplicator.StoreFailure.failOpen, .failClosed] {
            let store = FaultyStore(.init(calls: [.commit, .release]))
            let deduplicator = deduplicator(store, policy)
            var inFlight = try (0..<3).map { try message($0) }
            for index in inFlight.indices { #expect(try deduplicator.admit(&inFlight[index]) == .pass) }
            for message in inFlight { deduplicator.settle(message, Self.handled) }
            for number in 2000..<2010 {
                if policy == .failOpen {
                    #expect(try send(Int64(number), deduplicator) == .pass)
                } else {
                    #expect(throws: TestError.self) { try send(Int64(number), deduplicator) }
                }
            }
            #expect(store.counts?.inFlight == 3 && deduplicator.counts.unreportedEnds == 3)

            store.heal()
            for number in 3000..<3010 { #expect(try send(Int64(number), deduplicator) == .pass) }
            #expect(deduplicator.counts.unreportedEnds == 0 && store.counts?.inFlight == 0)
            for number in 0..<3 { #expect(try send(Int64(number), deduplicator) == .drop(.duplicate)) }
        }
    }
}
