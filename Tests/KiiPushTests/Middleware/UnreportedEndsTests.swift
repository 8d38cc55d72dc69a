import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

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
        var payload = fixture.payload(.long)
        payload.arrivedAt = clock.now
        return try RoutedMessage(payload)
    }

    private static let handled = Outcome.handled(MatchedRoutes())
    private static let refused = Outcome.refused(.scope)

    /// Sends a message through, and ends it if it passes.
    @discardableResult
    private func send(
        _ number: Int64, _ deduplicator: Deduplicator, _ outcome: Outcome = handled, isWeak: Bool = false
    ) throws -> Verdict {
        var message = try message(number, isWeak: isWeak)
        let verdict = try deduplicator.admit(&message)
        if verdict == .pass { deduplicator.settle(message, outcome) }
        return verdict
    }

    @Test("a commit that failed is repeated when a copy arrives")
    func remembersLate() throws {
        let deduplicator = deduplicator(FaultyStore(.init(calls: [.commit], isForEver: false)))
        #expect(try send(1, deduplicator) == .pass)
        #expect(deduplicator.counts.unreportedEnds == 1 && deduplicator.counts.storeFailures == 1)
        #expect(try send(1, deduplicator) == .drop(.duplicate))
        #expect(deduplicator.counts.unreportedEnds == 0 && deduplicator.counts.storeFailures == 1)
    }

    @Test("a commit that always fails is given up when a copy arrives")
    func forgets() throws {
        let deduplicator = deduplicator(FaultyStore(.init(calls: [.commit])))
        for _ in 0..<3 { #expect(try send(1, deduplicator) == .pass) }
        #expect(deduplicator.counts.unreportedEnds == 1, "only the last one's")
        #expect(deduplicator.counts.store?.inFlight == 1)
    }

    @Test("while commits fail, a copy passes or fails as configured")
    func policy() throws {
        for outcome in [Self.handled, Self.refused] {
            let open = deduplicator(FaultyStore(.init(calls: [.commit, .release])))
            for _ in 0..<3 { #expect(try send(1, open, outcome) == .pass) }
            #expect(open.counts.unreportedEnds == 1, "one that passed without a lease has none to end")

            let store = FaultyStore(.init(calls: [.commit, .release]))
            let closed = deduplicator(store, .failClosed)
            #expect(try send(1, closed, outcome) == .pass)
            for _ in 0..<2 { #expect(throws: TestError.self) { try send(1, closed, outcome) } }
            store.heal()
            #expect(try send(1, closed) == (outcome.isRemembered ? .drop(.duplicate) : .pass))
        }
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
