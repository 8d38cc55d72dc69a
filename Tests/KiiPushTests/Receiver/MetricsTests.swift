import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

@Suite(.timeLimit(.minutes(1)))
struct MetricsTests {
    @Test("every message is counted once, under its outcome and reason, and the sum is what was received")
    func sum() async {
        let receiver = PushReceiver(app: "0123abcd", me: [.thing(id: "th.me")], serving: .app)
        receiver.onPushToApp("updates", bucket: "settings", events: [.objectUpdated]) { _, _ in }
        receiver.onPushToApp("deletions", events: [.objectDeleted]) { _, _ in throw TestError() }
        receiver.onPushToUser("all", options: .continue) { _, _ in }
        receiver.onPushToUser("news", topic: "news") { _, _ in }
        var time: Int64 = 0
        func send(_ count: Int, _ fixture: (Int64) -> PayloadFixture) async {
            for _ in 0..<count {
                time += 1
                _ = await receiver.receive(fixture(time).payload(.long))
            }
        }
        await send(3) { .pushToApp(sentAt: $0, modifiedAt: nil) }
        await send(4) { .pushToApp(event: .objectDeleted, sentAt: $0, modifiedAt: nil) }
        await send(5) { .pushToApp(event: .objectCreated, sentAt: $0, modifiedAt: nil) }
        await send(2) { .pushToUser(sentAt: $0) }
        await send(6) { .pushToUser(topic: "other", sentAt: $0) }
        await send(7) { _ in .pushToUser(sentAt: 1_000_000) }
        await send(8) { .pushToApp(sender: "th.me", sentAt: $0, modifiedAt: nil) }
        await send(9) { .pushToUser(scope: .user(KiiUser(id: "U-1")), sentAt: $0) }
        for text in ["", "[]", "{", "{,}"] { _ = await receiver.receive(RawPayload(text)) }

        let metrics = receiver.metrics
        #expect(
            Set(metrics.nonzero) == [
                "handled: 12", "failed handler: 4", "unrouted noRoute: 5", "duplicate done: 6", "looped identity: 8",
                "refused scope: 9", "undecodable empty: 1", "undecodable notAnObject: 1",
                "undecodable unexpectedEnd: 1", "undecodable unexpectedCharacter: 1",
            ])
        #expect(metrics.received == 48)
        #expect(metrics.count("undecodable") == 4)
        #expect(metrics.count("undecodable", "empty") == 1)
        #expect(metrics.count("handled", "empty") == 0)
        let routes = metrics.routes.map { "\($0.route): \($0.handled), \($0.failed)" }
        #expect(routes == ["updates: 3, 0", "deletions: 0, 4", "all: 9, 0", "news: 3, 0"])
    }

    @Test("there is a count for every outcome and reason from the start, and each only once")
    func labels() {
        let metrics = PushReceiver().metrics
        #expect(metrics.received == 0)
        #expect(metrics.routes.isEmpty)
        let labels = metrics.outcomes.map { "\($0.outcome) \($0.reason ?? "")" }
        #expect(Set(labels).count == labels.count)
        let names: Set = [
            "handled", "duplicate", "looped", "paced", "deadLettered", "quarantined", "superseded", "expired",
            "refused", "unrouted", "failed", "undecodable",
        ]
        #expect(Set(metrics.outcomes.map(\.outcome)) == names)
        #expect(metrics.outcomes.filter { $0.outcome == "undecodable" }.count == DecodeError.Code.allCases.count)
    }

    @Test("each outcome counts under its own name and reason")
    func numbers() throws {
        let error = DecodeError(.empty, at: 0, "nothing")
        let failures = [true, false].map { isStage in
            Outcome.failed(
                Outcome.Failure(place: "p", isStage: isStage, error: TestError(), handled: MatchedRoutes()))
        }
        let outcomes: [Outcome] =
            [.handled(MatchedRoutes()), .duplicate(.done), .duplicate(.inFlight(.accept))]
            + LoopLayer.allCases.map { .looped($0) } + DeadLetter.Reason.allCases.map { .deadLettered($0) }
            + [.quarantined, .superseded, .expired, .paced(until: .seconds(1))]
            + [.refused(.app), .refused(.scope), .unrouted(.noRoute), .unrouted(.ambiguous), .undecodable(error)]
        for outcome in outcomes {
            let counters = OutcomeCounters()
            counters.count(outcome)
            #expect(counters.snapshot([]).count(outcome.name, outcome.reason) == 1, "\(outcome)")
        }
        let counters = OutcomeCounters()
        for failure in failures { counters.count(failure) }
        #expect(counters.snapshot([]).nonzero == ["failed handler: 1", "failed stage: 1"])
    }

    @Test("custom reasons share one count")
    func ownReasons() {
        let counters = OutcomeCounters()
        for number in 0..<100 { counters.count(.refused(.other("reason \(number)"))) }
        #expect(counters.snapshot([]).nonzero == ["refused other: 100"])
        // Not even one that is spelled as ours are.
        counters.count(.refused(.other("app")))
        #expect(counters.snapshot([]).count("refused", "app") == 0)
    }

    @Test("a snapshot of metrics does not change")
    func snapshot() async {
        let receiver = PushReceiver {}
        receiver.onAny("r") { _, _ in }
        let before = receiver.metrics
        _ = await receiver.receive(PayloadFixture.pushToApp().payload(.long))
        #expect(before.received == 0)
        #expect(before.routes[0].handled == 0)
        #expect(receiver.metrics.received == 1)
    }
}
