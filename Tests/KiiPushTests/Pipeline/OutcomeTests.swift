import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct OutcomeTests {
    private static func failure(isStage: Bool) -> Outcome {
        .failed(Outcome.Failure(place: "here", isStage: isStage, error: TestError(), handled: MatchedRoutes()))
    }

    @Test("each outcome has its name, reason, disposition, and mark on the seen store")
    func table() throws {
        let code = try #require(throws: DecodeError.self) { try PushMessage(RawPayload("[]")) }
        let rows: [(Outcome, String, String?, Disposition, isRemembered: Bool)] = [
            (.handled(MatchedRoutes()), "handled", nil, .accept, true),
            (.duplicate(.done), "duplicate", "done", .accept, false),
            (.duplicate(.inFlight(.accept)), "duplicate", "inFlight", .accept, false),
            (.duplicate(.inFlight(.retryLater)), "duplicate", "inFlight", .retryLater, false),
            (.looped(.identity), "looped", "identity", .accept, true),
            (.looped(.killSwitch), "looped", "killSwitch", .accept, true),
            (.expired, "expired", nil, .accept, true),
            (.refused(.app), "refused", "app", .accept, false),
            (.refused(.scope), "refused", "scope", .accept, false),
            (.refused(.other("quiet hours")), "refused", "quiet hours", .accept, false),
            (.unrouted(.noRoute), "unrouted", "noRoute", .accept, false),
            (.unrouted(.ambiguous), "unrouted", "ambiguous", .accept, false),
            (Self.failure(isStage: true), "failed", "here", .retryLater, false),
            (Self.failure(isStage: false), "failed", "here", .retryLater, false),
            (.undecodable(code), "undecodable", "notAnObject", .reject, false),
        ]
        for (number, row) in rows.enumerated() {
            // Equal to itself alone: each row is another end.
            let equal = rows.indices.filter { rows[$0].0 == row.0 }
            #expect(equal == [number], "\(row.0)")
        }
        for (outcome, name, reason, disposition, isRemembered) in rows {
            #expect(outcome.name == name)
            #expect(outcome.reason == reason)
            #expect(outcome.disposition == disposition, "\(outcome)")
            #expect(outcome.isRemembered == isRemembered, "\(outcome)")
            #expect(outcome.description == (reason.map { "\(name) (\($0))" } ?? name))
        }
    }

    @Test("a refusal of one's own is none of ours, and a verdict prints as a trace shows it")
    func verdicts() {
        #expect(Verdict.refuse("app") == .drop(.refused(.other("app"))))
        #expect(Verdict.refuse("app") != .drop(.refused(.app)))
        #expect("\(Verdict.drop(.duplicateInFlight))" == "drop: duplicate (inFlight)")
    }
}
