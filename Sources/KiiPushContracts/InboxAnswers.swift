import KiiPush
import KiiPushDelivery

extension InboxGuarantee {
    private static func answer(
        _ id: UInt64, _ number: Int, of payload: RawPayload, to sender: String = "a"
    ) -> UnsentAnswer {
        let data = DataValue.object([(key: "e\u{301}", value: .number("\(number)"))])
        var answer = Answer(number == 0 ? .failed : .succeeded, data: data, reason: number == 0 ? "\u{0}why" : nil)
        if number == 0 { answer[failureOf: "power"] = "no" }
        return UnsentAnswer(id: id, sender: sender, payload: payload, answer: answer)
    }

    static let answers = [
        Self("an answer is kept for its sender from its payload's end until it was delivered") { trial in
            let ids = try trial.inbox.add(Array(odd.prefix(4)))
            guard ids.count == 4 else { return trial.fail("for 4 payloads there are \(ids.count) numbers") }
            for (number, id) in ids.enumerated().reversed() {
                try await trial.record(.answer(answer(id, number, of: odd[number], to: number == 3 ? "b" : "a")))
            }
            if trial.isDurable {
                trial.expect(try trial.inbox.answers(of: "a", limit: 9).isEmpty, "none of the payloads has ended")
            }
            for id in ids { try await trial.record(.ended(id)) }
            for when in ["at first", "in a later process"] {
                try trial.expectAnswers(ids.prefix(3).enumerated().map { answer($1, $0, of: odd[$0]) }, when)
                let first = try trial.inbox.answers(of: "a", limit: 2).map(\.id)
                trial.expect(first == Array(ids[..<2]), "\(when) the first two should be returned, \(first) are")
                trial.expect(try trial.inbox.answers(of: "b", limit: 9).map(\.id) == [ids[3]], "\(when) b has one")
                trial.expect(try trial.inbox.answers(of: "A", limit: 9).isEmpty, "\(when) nobody else has one")
                guard trial.isDurable else { break }
                try trial.restart()
            }
            try await trial.record(.answered(ids[0]), .answered(ids[3]), .answered(77))
            let left = try trial.inbox.answers(of: "a", limit: 9) + trial.inbox.answers(of: "b", limit: 9)
            trial.expect(left.map(\.id) == [ids[1], ids[2]], "those that were delivered should be gone")
        },
        Self("of two answers of a payload the first counts") { trial in
            let ids = try trial.add(1)
            let first = answer(ids[0], 1, of: payload(0))
            let second = answer(ids[0], 2, of: payload(0))
            try await trial.record(.answer(first))
            if trial.isDurable { try trial.restart() }
            try await trial.record(.answer(second), .ended(ids[0]))
            try trial.expectAnswers([first], "when the first was kept")
        },
        Self("answers of routes are returned with their payload", needsDurable: true) { trial in
            let ids = try trial.add(2)
            let answers: [Answer?] = [.failed("no"), nil, .succeeded(.bool(true))]
            // The names of two routes may look the same.
            try await trial.record(.failed(ids[0], handled: ["e\u{301}", "b", "\u{E9}"], answers: answers))
            try await trial.record(.begun(ids[0], attempt: 2))
            let entries = try trial.expectLeft(ids, "afterwards")
            let (expected, found) = ([answers, []], entries.map(\.answers))
            func text(_ answers: [[Answer?]]) -> String { "\(answers.map { $0.map { $0?.jsonText ?? "nil" } })" }
            trial.expect(found == expected, "the answers should be \(text(expected)), they are \(text(found))")
        },
    ]
}

extension InboxTrial {
    /// Expects these answers for the sender `a`, with all that it needs; an inbox need not keep a payload's arrival.
    fileprivate func expectAnswers(_ expected: [UnsentAnswer], _ when: String) throws {
        let due = try inbox.answers(of: "a", limit: 9)
        let (wanted, found) = (expected.map(\.id), due.map(\.id))
        expect(found == wanted, "\(when) there should be the answers of \(wanted), there are those of \(found)")
        for (answer, expected) in zip(due, expected) where answer.id == expected.id {
            let (text, wanted) = (answer.answer.jsonText, expected.answer.jsonText)
            expect(text.isExactly(wanted), "\(when) answer \(answer.id) should be \(wanted), it is \(text)")
            for (part, isSame) in InboxGuarantee.parts(answer.payload, expected.payload) where !isSame {
                if !["redelivery", "transport's id"].contains(part) {
                    fail("\(when) answer \(answer.id) should have its payload's \(part) as it was")
                }
            }
        }
    }
}
