import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct OutcomeTests {
    private static func failure(isMiddleware: Bool) -> Outcome {
        .failed(
            Outcome.Failure(place: "here", isMiddleware: isMiddleware, error: TestError(), handled: MatchedRoutes()))
    }

    @Test("outcomes equal only themselves, and print their name and reason")
    func equality() throws {
        let code = try #require(throws: DecodeError.self) { try PushMessage(RawPayload("[]")) }
        let rows: [(Outcome, String)] = [
            (.handled(MatchedRoutes()), "handled"), (.duplicate(.done), "duplicate (done)"),
            (.duplicate(.inFlight(.accept)), "duplicate (inFlight)"),
            (.duplicate(.inFlight(.retryLater)), "duplicate (inFlight)"), (.looped(.identity), "looped (identity)"),
            (.looped(.killSwitch), "looped (killSwitch)"), (.expired, "expired"), (.refused(.app), "refused (app)"),
            (.refused(.scope), "refused (scope)"), (.refused(.other("quiet hours")), "refused (quiet hours)"),
            (.unrouted(.noRoute), "unrouted (noRoute)"), (.unrouted(.ambiguous), "unrouted (ambiguous)"),
            (Self.failure(isMiddleware: true), "failed (here)"), (Self.failure(isMiddleware: false), "failed (here)"),
            (.undecodable(code), "undecodable (notAnObject)"),
        ]
        for (number, row) in rows.enumerated() {
            #expect(rows.indices.filter { rows[$0].0 == row.0 } == [number], "\(row.0)")
            #expect(row.0.description == row.1)
        }
    }

    @Test("a custom refusal differs from a built-in one of the same text")
    func verdicts() {
        #expect(Verdict.refuse("app") == .drop(.refused(.other("app"))))
        #expect(Verdict.refuse("app") != .drop(.refused(.app)))
        #expect("\(Verdict.drop(.duplicateInFlight))" == "drop: duplicate (inFlight)")
    }
}

@Suite(.timeLimit(.minutes(1)))
struct MetricsTests {
    @Test("each outcome counts under its own name and reason, and the sum is what was received")
    func numbers() {
        let failures = [true, false].map { isMiddleware in
            Outcome.failed(
                Outcome.Failure(place: "p", isMiddleware: isMiddleware, error: TestError(), handled: MatchedRoutes()))
        }
        let outcomes: [Outcome] =
            [.handled(MatchedRoutes()), .duplicate(.done), .duplicate(.inFlight(.accept))]
            + LoopLayer.ofOutcomes.map { .looped($0) }
            + [.deadLettered(.killSwitch), .deadLettered(.backlogFull), .deadLettered(.failed)]
            + [.quarantined, .superseded, .expired, .paced(until: .seconds(1))]
            + [.refused(.app), .refused(.scope), .unrouted(.noRoute), .unrouted(.ambiguous)]
            + DecodeError.Code.allCases.map { .undecodable(DecodeError($0, at: 0, "")) }
        let all = OutcomeCounters()
        for outcome in outcomes {
            let counters = OutcomeCounters()
            counters.count(outcome)
            all.count(outcome)
            #expect(counters.snapshot([]).nonzero.count == 1)
            #expect(counters.snapshot([]).count(outcome.name, outcome.reason) == 1, "\(outcome)")
        }
        let sum = all.snapshot([])
        #expect(sum.received == outcomes.count - 1, "what waits for its pace has not ended")
        #expect(sum.count("undecodable") == DecodeError.Code.allCases.count && sum.count("handled", "empty") == 0)
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
        // Nor one that only a middleware of one's own makes: no such message may count as handled.
        counters.count(.looped(.pace))
        #expect(counters.snapshot([]).nonzero == ["refused other: 102"])
    }
}
