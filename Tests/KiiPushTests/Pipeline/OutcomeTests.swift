import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct OutcomeTests {
    private static func failure(isStage: Bool) -> Outcome {
        .failed(Outcome.Failure(place: "here", isStage: isStage, error: TestError(), handled: MatchedRoutes()))
    }

    @Test("each outcome equals itself alone, and prints its name and its reason")
    func equality() throws {
        let code = try #require(throws: DecodeError.self) { try PushMessage(RawPayload("[]")) }
        let rows: [(Outcome, String)] = [
            (.handled(MatchedRoutes()), "handled"), (.duplicate(.done), "duplicate (done)"),
            (.duplicate(.inFlight(.accept)), "duplicate (inFlight)"),
            (.duplicate(.inFlight(.retryLater)), "duplicate (inFlight)"), (.looped(.identity), "looped (identity)"),
            (.looped(.killSwitch), "looped (killSwitch)"), (.expired, "expired"), (.refused(.app), "refused (app)"),
            (.refused(.scope), "refused (scope)"), (.refused(.other("quiet hours")), "refused (quiet hours)"),
            (.unrouted(.noRoute), "unrouted (noRoute)"), (.unrouted(.ambiguous), "unrouted (ambiguous)"),
            (Self.failure(isStage: true), "failed (here)"), (Self.failure(isStage: false), "failed (here)"),
            (.undecodable(code), "undecodable (notAnObject)"),
        ]
        for (number, row) in rows.enumerated() {
            #expect(rows.indices.filter { rows[$0].0 == row.0 } == [number], "\(row.0)")
            #expect(row.0.description == row.1)
        }
    }

    @Test("a copy of a message in flight ends as it was told, and is not remembered")
    func inFlight() {
        for disposition in [Disposition.accept, .retryLater] {
            let outcome = Outcome.duplicate(.inFlight(disposition))
            #expect(outcome.disposition == disposition && !outcome.isRemembered)
        }
    }

    @Test("a refusal of one's own is none of ours, and a verdict prints as a trace shows it")
    func verdicts() {
        #expect(Verdict.refuse("app") == .drop(.refused(.other("app"))))
        #expect(Verdict.refuse("app") != .drop(.refused(.app)))
        #expect("\(Verdict.drop(.duplicateInFlight))" == "drop: duplicate (inFlight)")
    }
}
