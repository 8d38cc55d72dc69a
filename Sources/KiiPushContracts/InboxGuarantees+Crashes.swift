import KiiPush
import KiiPushDelivery

extension InboxGuarantee {
    // MARK: Crashes

    static let crashes = [
        InboxGuarantee(
            "a payload in flight at a crash counts one crash more, and is marked if it was alone", needsDurable: true
        ) {
            trial in
            let ids = try trial.add(4)
            try await trial.record(.begun(ids[1], attempt: 1))
            try trial.expectCrashes([0, 1, 0, 0], alone: [ids[1]], "when the second was in flight")
            try await trial.record(.begun(ids[0], attempt: 1), .begun(ids[1], attempt: 2), .begun(ids[2], attempt: 1))
            try trial.expectCrashes([1, 2, 1, 0], alone: [], "when three were in flight")
            try await trial.record(.begun(ids[1], attempt: 3))
            try trial.expectCrashes([1, 3, 1, 0], alone: [ids[1]], "when it was alone again")
        },
        InboxGuarantee("a payload not in flight at a crash counts none", needsDurable: true) { trial in
            let ids = try trial.add(4)
            try await trial.record(
                .begun(ids[0], attempt: 1), .begun(ids[1], attempt: 1), .failed(ids[0], handled: []),
                .begun(ids[3], attempt: 1), .ended(ids[3]))
            let left = Array(ids.dropLast())
            try trial.expectCrashes([0, 1, 0], alone: [left[1]], "when one had failed and one had ended")
            try trial.expectCrashes([0, 1, 0], alone: [left[1]], "when none was in flight since")
        },
        InboxGuarantee("asking again counts no crash", needsDurable: true) { trial in
            let ids = try trial.add(1)
            try await trial.record(.begun(ids[0], attempt: 1))
            try trial.restart()
            let again = try trial.inbox.entries().map(\.crashes)
            trial.expect(again == [1], "there should be one crash, there are \(again)")
        },
    ]

    // MARK: Concurrency

    static let atOnce = [
        InboxGuarantee("concurrent calls are atomic") { trial in
            let inbox = try trial.inbox
            let batches = await withTaskGroup(of: [UInt64].self) { group in
                for task in 0..<32 {
                    group.addTask { (try? inbox.add([payload(task), payload(task), payload(task)])) ?? [] }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            let ids = batches.flatMap { $0 }
            trial.expect(ids.count == 96, "96 payloads should have been taken, \(ids.count) were")
            trial.expect(Set(ids).count == ids.count, "two payloads should not have one number")
            trial.expect(batches.allSatisfy { $0 == $0.sorted() }, "numbers should be in the order of the payloads")
            if trial.isDurable { try trial.expectLeft(ids.sorted(), "afterwards") }
        },
        InboxGuarantee("concurrent records all count, in order for each payload") { trial in
            let inbox = try trial.inbox
            let ids = try trial.add(96)
            let failures = await withTaskGroup(of: (any Error)?.self) { group in
                for id in ids {
                    group.addTask {
                        do {
                            for attempt in 1...4 {
                                try await inbox.record(.begun(id, attempt: attempt))
                                try await inbox.record(.failed(id, handled: ["r\(attempt)"]))
                            }
                            if id % 3 == 0 { try await inbox.record(.ended(id)) }
                            return nil
                        } catch { return error }
                    }
                }
                return await group.reduce(into: []) { all, error in if let error { all.append(error) } }
            }
            trial.expect(failures.isEmpty, "\(failures.count) records could not be written")
            guard trial.isDurable else { return }
            let entries = try trial.expectLeft(ids.filter { $0 % 3 != 0 }, "afterwards")
            trial.expect(
                entries.allSatisfy { $0.attempts == 4 && $0.handled == ["r4"] && $0.crashes == 0 },
                "each payload should have its own last records")
        },
    ]
}

extension InboxTrial {
    /// Expects that a later process sees these crash counts, in the payloads' order, and which payloads were alone.
    func expectCrashes(_ crashes: [Int], alone: [UInt64], _ when: String) throws {
        let entries = try restart()
        let found = entries.map(\.crashes)
        expect(found == crashes, "\(when) the crashes should be \(crashes), they are \(found)")
        let foundAlone = entries.filter(\.crashedAlone).map(\.id)
        expect(foundAlone == alone, "\(when) those alone should be \(alone), they are \(foundAlone)")
    }
}
