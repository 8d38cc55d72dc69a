import KiiPushTesting
import Testing

@testable import KiiPush

/// The ends of messages that a store could not be told: what their copies meet, and how many are kept.
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
    private static let failed = Outcome.failed(
        Outcome.Failure(place: "r", isStage: false, error: TestError(), handled: MatchedRoutes()))

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

    @Test("what the store could not remember once it remembers when a copy comes")
    func remembersLate() throws {
        let deduplicator = deduplicator(FaultyStore(.init(calls: [.commit], isForEver: false)))
        #expect(try send(1, deduplicator) == .pass)
        #expect(deduplicator.counts.unreportedEnds == 1 && deduplicator.counts.storeFailures == 1)
        #expect(try send(1, deduplicator) == .drop(.duplicate))
        #expect(deduplicator.counts.unreportedEnds == 0 && deduplicator.counts.storeFailures == 1)
    }

    @Test("what it can never remember is forgotten when a copy comes, so that the copy does not wait")
    func forgets() throws {
        let deduplicator = deduplicator(FaultyStore(.init(calls: [.commit])))
        for _ in 0..<3 { #expect(try send(1, deduplicator) == .pass) }
        #expect(deduplicator.counts.unreportedEnds == 1, "only the last one's")
        #expect(deduplicator.counts.store?.inFlight == 1)
    }

    @Test("a copy of a message that ended untold passes or fails, while the store can be told nothing")
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

    @Test("a copy that was told to wait just before learns how the first one ended")
    func justBefore() async throws {
        for (outcome, disposition) in [(Self.handled, Disposition.accept), (Self.failed, .retryLater)] {
            let deduplicator = deduplicator(FaultyStore(.init(calls: [.commit, .release])))
            var first = try message(1)
            #expect(try deduplicator.admit(&first) == .pass)
            var copy = try message(1)
            guard case .drop(.duplicateInFlight(let lease)) = try deduplicator.admit(&copy) else {
                Issue.record("the copy should be in flight")
                return
            }
            deduplicator.settle(first, outcome)
            #expect(await copy.first?.end(of: lease, now: clock.now) == disposition)
        }
    }

    @Test("what a copy that came too late reserved in vain is given back, even if the store throws then")
    func ownLease() async throws {
        let store = FaultyStore(.init(calls: [.release], from: 2, isForEver: false))
        let deduplicator = deduplicator(store)
        var first = try message(1)
        #expect(try deduplicator.admit(&first) == .pass)
        var copy = try message(1)
        guard case .drop(.duplicateInFlight(let lease)) = try deduplicator.admit(&copy) else {
            Issue.record("the copy should be in flight")
            return
        }
        deduplicator.settle(first, Self.refused)
        #expect(await copy.first?.end(of: lease, now: clock.now) == .retryLater)
        #expect(store.thrown == 1 && deduplicator.counts.unreportedEnds == 1)
        #expect(try send(1, deduplicator) == .pass, "it is handled when it comes again")
        #expect(deduplicator.counts.unreportedEnds == 0 && store.counts?.inFlight == 0)
    }

    @Test("what is remembered late counts from its end, so that a weak key hides no honest message")
    func lateWeak() throws {
        let deduplicator = deduplicator(FaultyStore(.init(calls: [.commit], isForEver: false)))
        try send(1, deduplicator, isWeak: true)
        clock.advance(by: .seconds(5))
        #expect(try send(1, deduplicator, isWeak: true) == .pass)
    }

    @Test("a store that is well again is told what it missed while other messages end")
    func drains() throws {
        let store = FaultyStore(.init(calls: [.commit, .release]))
        let deduplicator = deduplicator(store)
        for number in 0..<10 { try send(Int64(number), deduplicator, number < 5 ? Self.handled : Self.refused) }
        #expect(deduplicator.counts.unreportedEnds == 10)
        store.heal()
        for number in 100..<105 { try send(Int64(number), deduplicator) }
        #expect(deduplicator.counts.unreportedEnds == 0)
        #expect(store.counts == SeenCounts(strong: .init(remembered: 10)))
        for number in 0..<5 { #expect(try send(Int64(number), deduplicator) == .drop(.duplicate)) }
        for number in 5..<10 { #expect(try send(Int64(number), deduplicator) == .pass) }
    }

    @Test("deduplicators that share a store share what it could not be told")
    func shared() throws {
        let store = FaultyStore(.init(calls: [.commit], isForEver: false))
        try send(1, deduplicator(store))
        // The first deduplicator is gone; as long as one is there, its list is.
        let one = deduplicator(store)
        let other = deduplicator(store)
        store.heal()
        try send(2, one)
        #expect(one.counts.unreportedEnds == other.counts.unreportedEnds)
    }

    @Test("with 1,024 untold ends no message gets a lease before the store was told one of them")
    func bound() throws {
        for policy in [Deduplicator.StoreFailure.failOpen, .failClosed] {
            let store = FaultyStore(.init(calls: [.commit, .release]))
            let deduplicator = deduplicator(store, policy)
            var late = try message(5000)
            #expect(try deduplicator.admit(&late) == .pass)
            for number in 0..<1024 { #expect(try send(Int64(number), deduplicator) == .pass) }
            for number in 2000..<2010 {
                if policy == .failOpen {
                    #expect(try send(Int64(number), deduplicator) == .pass)
                } else {
                    #expect(throws: TestError.self) { try send(Int64(number), deduplicator) }
                }
            }
            #expect(store.counts?.inFlight == 1025 && deduplicator.counts.unreportedEnds == 1024)
            deduplicator.settle(late, Self.handled)
            #expect(deduplicator.counts.unreportedEnds == 1025, "what was in flight by then is kept too")

            store.heal()
            for number in 3000..<3600 { #expect(try send(Int64(number), deduplicator) == .pass) }
            #expect(deduplicator.counts.unreportedEnds == 0 && store.counts?.inFlight == 0)
            for number in [0, 1023, 5000] { #expect(try send(Int64(number), deduplicator) == .drop(.duplicate)) }
        }
    }
}
