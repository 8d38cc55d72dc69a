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

    @Test("every layer and every code has its own counter", arguments: LoopLayer.allCases)
    func counters(layer: LoopLayer) {
        let counters = OutcomeCounters()
        counters.count(.looped(layer))
        #expect(counters.snapshot([]).nonzero == ["looped \(layer.rawValue): 1"])
    }

    @Test("a decode error is counted under its code", arguments: DecodeError.Code.allCases)
    func codes(code: DecodeError.Code) {
        let counters = OutcomeCounters()
        counters.count(.undecodable(DecodeError(code, at: 0, "")))
        #expect(counters.snapshot([]).nonzero == ["undecodable \(code.rawValue): 1"])
    }
}
