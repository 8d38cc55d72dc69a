import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct DeduplicatorTests {
    let clock = ManualClock()
    let event = PayloadFixture.pushToApp().payload(.long)

    /// Sends a message through, and ends it if it passes.
    @discardableResult
    private func send(
        _ payload: RawPayload, _ deduplicator: Deduplicator, _ outcome: Outcome = .handled(MatchedRoutes()),
        app: String? = nil
    ) throws -> Verdict {
        var payload = payload
        payload.arrivedAt = clock.now
        var message = try RoutedMessage(payload, app: app)
        let verdict = try deduplicator.admit(&message)
        if verdict == .pass { deduplicator.settle(message, outcome) }
        return verdict
    }

    @Test("FCM pushes with equal text differ by id, and one id is one message however late")
    func fcmID() throws {
        let deduplicator = Deduplicator(clock: clock)
        func push(_ id: String) -> RawPayload {
            RawPayload(#"{"text":"door open","google.message_id":"\#(id)"}"#, transport: .fcm)
        }
        #expect(try send(push("0:1"), deduplicator) == .pass)
        #expect(try send(push("0:2"), deduplicator) == .pass)
        clock.advance(by: .seconds(300))
        #expect(try send(push("0:1"), deduplicator) == .drop(.duplicate))
        #expect(try send(push("0:3"), deduplicator) == .pass)
    }

    @Test("only final outcomes are remembered")
    func outcomes() throws {
        let failure = Outcome.Failure(place: "r", isStage: false, error: TestError(), handled: MatchedRoutes())
        let table: [(outcome: Outcome, isRemembered: Bool)] = [
            (.handled(MatchedRoutes()), true), (.looped(.identity), true), (.looped(.killSwitch), true),
            (.refused(.app), false), (.refused(.scope), false), (.refused(.other("x")), false),
            (.unrouted(.noRoute), false), (.unrouted(.ambiguous), false), (.failed(failure), false),
        ]
        for (outcome, isRemembered) in table {
            let deduplicator = Deduplicator(clock: clock)
            try send(event, deduplicator, outcome)
            #expect(try send(event, deduplicator) == (isRemembered ? .drop(.duplicate) : .pass), "\(outcome)")
        }
    }

    @Test("a copy of a message in progress is dropped and reserves nothing")
    func inFlight() throws {
        let deduplicator = Deduplicator(clock: clock)
        var first = try RoutedMessage(event)
        #expect(try deduplicator.admit(&first) == .pass)
        var second = try RoutedMessage(PayloadFixture.pushToApp().payload(.short))
        #expect(try deduplicator.admit(&second) == .drop(.duplicateInFlight))
        #expect(second.lease == nil, "what it did not reserve it cannot end")
        deduplicator.settle(first, .handled(MatchedRoutes()))
        #expect(try send(event, deduplicator) == .drop(.duplicate))
    }

    @Test("two changes pushed in the same millisecond are both handled, and their APNs copies are dropped")
    func samePushTime() throws {
        let deduplicator = Deduplicator(clock: clock)
        let changes = [50, 51].map { (modifiedAt: Int64) in
            PayloadFixture.pushToApp(sender: "U-\(modifiedAt)", sentAt: 100, modifiedAt: modifiedAt)
        }
        for change in changes {
            for (style, isNew) in [(PayloadFixture.KeyStyle.long, true), (.strings, false), (.short, false)] {
                #expect(try (send(change.payload(style), deduplicator) == .pass) == isNew)
            }
        }
        // While the first one is being handled, too.
        let other = Deduplicator(clock: clock)
        var messages = try changes.map { try RoutedMessage($0.payload(.long)) }
        #expect(try other.admit(&messages[0]) == .pass)
        #expect(try other.admit(&messages[1]) == .pass)
        for message in messages { other.settle(message, .handled(MatchedRoutes())) }
        #expect(other.counts.store?.strong == .init(remembered: 2))
    }

    // MARK: Windows

    @Test("memory stays within the windows' counts, and evictions are counted")
    func bounded() throws {
        let deduplicator = Deduplicator(window: SeenWindow(count: 100), clock: clock)
        var message = try RoutedMessage(event)
        _ = try deduplicator.admit(&message)
        for number in 0..<5000 {
            try send(PayloadFixture.pushToApp(sentAt: Int64(number)).payload(.long), deduplicator)
            let data: [(String, DataValue)] = [("text", .string("\(number)"))]
            try send(PayloadFixture.directPush(data: data).payload(.long), deduplicator)
        }
        let counts = deduplicator.counts
        // The events have one time of modification, which the first one has in flight.
        #expect(counts.store?.strong == .init(remembered: 0))
        #expect(counts.store?.weak == .init(remembered: 100, evictedEarly: 4900))
        #expect(counts.store?.inFlight == 1 && counts.storeFailures == 0 && counts.unreportedEnds == 0)
        deduplicator.settle(message, .handled(MatchedRoutes()))
        #expect(deduplicator.counts.store?.strong == .init(remembered: 1))
        #expect(deduplicator.counts.store?.inFlight == 0)
    }

    @Test("a store without counts reports none")
    func noCounts() {
        let deduplicator = Deduplicator(store: SpyStore(), secret: .published, clock: clock)
        #expect(deduplicator.counts.store == nil && deduplicator.counts.storeFailures == 0)
    }

    @Test("the defaults are ten minutes, 20,000 messages and five seconds")
    func standardWindow() {
        #expect(SeenWindow.standard == SeenWindow(age: .seconds(600), count: 20_000, weakAge: .seconds(5)))
    }

    // MARK: Stores

    @Test("keys depend on the deduplicator's secret")
    func secrets() throws {
        let store = InMemorySeenStore()
        try send(event, Deduplicator(store: store, secret: DedupeSecret(1, 2), clock: clock))
        let same = Deduplicator(store: store, secret: DedupeSecret(1, 2), clock: clock)
        #expect(try send(event, same) == .drop(.duplicate))
        let other = Deduplicator(store: store, secret: DedupeSecret(3, 4), clock: clock)
        #expect(try send(event, other) == .pass)
    }
}
