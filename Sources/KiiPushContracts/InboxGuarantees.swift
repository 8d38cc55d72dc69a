import KiiPush
import KiiPushDelivery

extension InboxGuarantee {
    /// Every guarantee, in the order of the protocol's documentation.
    static let all = numbers + keeping + reading + checks + records + answers + crashes + atOnce

    // MARK: Numbers

    private static let numbers = [
        Self("an empty inbox has nothing of an earlier process") { trial in
            trial.expect(try trial.inbox.entries().isEmpty, "there should be nothing")
        },
        Self("numbers go up from 1, one for each payload, and none for none") { trial in
            trial.expect(try trial.inbox.add([]).isEmpty, "there should be no number when nothing is added")
            let ids = try [3, 1, 2].flatMap { try trial.add($0) }
            trial.expect(ids.first == 1, "the first should be 1, it is \(ids.first ?? 0)")
            trial.expect(zip(ids, ids.dropFirst()).allSatisfy { $0 < $1 }, "they should go up: \(ids)")
        },
        Self("the number of a payload that has ended is not used again") { trial in
            var last: UInt64 = 0
            for _ in 0..<5 {
                let id = try trial.add(1)[0]
                trial.expect(id > last, "number \(id) came after \(last)")
                last = id
                try await trial.record(.ended(id))
            }
        },
        Self("not even by another process", needsDurable: true) { trial in
            var last: UInt64 = 0
            for _ in 0..<3 {
                let ids = try trial.add(2)
                trial.expect(ids[0] > last, "number \(ids[0]) came after \(last) of the process before")
                last = ids[1]
                try await trial.record(.ended(ids[0]), .ended(ids[1]))
                try trial.expectLeft([], "when all have ended")
            }
        },
    ]

    // MARK: Persistence

    private static let keeping = [
        Self("a payload is returned byte for byte, with all that its transport reported", needsDurable: true) { trial in
            let ids = try trial.inbox.add(odd)
            for when in ["at first", "once more"] {
                let entries = try trial.expectLeft(ids, when)
                for (entry, payload) in zip(entries, odd) {
                    for (part, isSame) in parts(entry.payload, payload) where !isSame {
                        trial.fail("\(when) payload \(entry.id) should have its \(part) back as it was")
                    }
                }
            }
        },
        Self("unended payloads are returned oldest first, and ended ones are removed", needsDurable: true) { trial in
            var ids = try trial.add(5)
            try await trial.record(.ended(ids.remove(at: 2)))
            ids += try trial.add(3, from: 5)
            try await trial.record(.begun(ids[4], attempt: 1), .ended(ids.remove(at: 4)))
            let entries = try trial.expectLeft(ids, "at first")
            trial.expect(
                entries.map { $0.payload.bytes.first } == [0, 1, 3, 4, 6, 7],
                "each number should have its own payload")
            try await trial.record(.ended(ids.removeFirst()))
            ids += try trial.add(1)
            try trial.expectLeft(ids, "when another process has ended one and added one")
        },
        Self("payloads keep the time between their arrivals", needsDurable: true) { trial in
            let ids = try trial.inbox.add([-700, -600, 0].map { RawPayload([1], arrivedAt: .seconds($0)) })
            let arrivals = try trial.expectLeft(ids, "before they have ended").map { $0.payload.arrivedAt }
            for (index, seconds) in [(0, 100), (1, 600)] where arrivals.count == 3 {
                guard let first = arrivals[index], let second = arrivals[index + 1] else {
                    trial.fail("a payload should have its arrival")
                    continue
                }
                let apart = first.duration(to: second)
                trial.expect(
                    apart > .seconds(seconds - 1) && apart < .seconds(seconds + 1),
                    "two payloads that arrived \(seconds) s apart should be so, they are \(apart)")
            }
        },
        Self("a payload added twice is stored twice", needsDurable: true) { trial in
            let ids = try trial.inbox.add([payload(1), payload(1)])
            trial.expect(Set(ids).count == 2, "they should have two numbers")
            try await trial.record(.ended(ids[0]))
            try trial.expectLeft([ids[1]], "when one has ended")
        },
    ]

    // MARK: Reading

    private static let reading = [
        Self("the payloads of an earlier process, and their crashes, are read in pages", needsDurable: true) { trial in
            var ids = try trial.add(7)
            try await trial.record(
                .ended(ids.remove(at: 3)), .begun(ids[1], attempt: 1), .begun(ids[4], attempt: 1))
            try trial.reopen()
            var pages: [[InboxEntry]] = []
            while pages.count < 3 {
                pages.append(try trial.inbox.entries(after: pages.last?.last?.id ?? 0, limit: 3))
            }
            let (expected, found) = ([Array(ids[..<3]), Array(ids[3...]), []], pages.map { $0.map(\.id) })
            trial.expect(found == expected, "pages of 3 should be \(expected), they are \(found)")
            let entries = pages.flatMap { $0 }
            let crashes = entries.map(\.crashes)
            trial.expect(
                crashes == [0, 1, 0, 0, 1, 0] && !entries.contains(where: \.crashedAlone),
                "two should have crashed, not alone; the crashes are \(crashes)")
        },
        Self("payloads are read again by their numbers, in that order, with their records", needsDurable: true) {
            trial in
            var ids = try trial.inbox.add(odd) + trial.add(3)
            try await trial.record(
                .begun(ids[1], attempt: 2), .failed(ids[1], handled: ["b", "a"]), .ended(ids.removeLast()))
            for when in ["in the process that added them", "in a later one"] {
                let wanted = Array(ids.reversed())
                let entries = try trial.inbox.entries(of: [UInt64.max, 0] + wanted + [ids[ids.count - 1] + 1])
                trial.expect(
                    entries.map(\.id) == wanted, "\(when) \(wanted) should be read, there are \(entries.map(\.id))")
                for (entry, payload) in zip(entries.reversed(), odd) {
                    for (part, isSame) in parts(entry.payload, payload) where !isSame {
                        trial.fail("\(when) payload \(entry.id) should have its \(part) back as it was")
                    }
                }
                let recorded = entries.first { $0.id == ids[1] }
                trial.expect(
                    recorded?.attempts == 2 && recorded?.handled == ["b", "a"], "\(when) the records should be read too"
                )
                trial.expect(try trial.inbox.entries(of: []).isEmpty, "\(when) none should be read for no number")
                try trial.restart()
            }
        },
        Self("reading again counts no crash", needsDurable: true) { trial in
            let ids = try trial.add(2)
            try await trial.record(.begun(ids[0], attempt: 1))
            let crashes = try trial.inbox.entries(of: ids).map(\.crashes)
            trial.expect(crashes == [0, 0], "there should be no crash, there are \(crashes)")
            try trial.expectCrashes([1, 0], alone: [ids[0]], "when one was in flight and read")
        },
    ]

    // MARK: Checks

    private static let checks = [
        Self("a check throws nothing while there is room, and changes nothing") { trial in
            try trial.inbox.check()
            let ids = try trial.add(2)
            try trial.inbox.check()
            if trial.isDurable { try trial.expectLeft(ids, "after two checks") }
        }
    ]

    // MARK: Records

    private static let records = [
        Self("attempts and handled routes are kept", needsDurable: true) { trial in
            let ids = try trial.add(3)
            try await trial.record(
                .begun(ids[0], attempt: 1), .failed(ids[0], handled: ["b"]), .begun(ids[0], attempt: 2),
                .failed(ids[0], handled: ["b", "a", "", "e\u{301}", "\u{E9}"]), .begun(ids[0], attempt: 3),
                .begun(ids[1], attempt: 7))
            for when in ["at first", "once more"] {
                let entries = try trial.expectLeft(ids, when)
                trial.expect(
                    entries.map(\.attempts) == [3, 7, 0], "\(when) the attempts are \(entries.map(\.attempts))")
                let handled = entries.map { $0.handled.map { Array($0.utf8) } }
                let expected = [["b", "a", "", "e\u{301}", "\u{E9}"], [], []].map { $0.map { Array($0.utf8) } }
                trial.expect(handled == expected, "\(when) the handled routes are \(entries.map(\.handled))")
            }
        },
        Self("the last record of a payload counts", needsDurable: true) { trial in
            let ids = try trial.add(2)
            for attempt in 1...20 {
                for id in ids {
                    try await trial.record(
                        .begun(id, attempt: attempt), .failed(id, handled: (0..<attempt).map { "r\($0)" }))
                }
            }
            try await trial.record(.failed(ids[1], handled: []))
            let entries = try trial.expectLeft(ids, "afterwards")
            trial.expect(
                entries.map(\.attempts) == [20, 20] && entries.map(\.handled.count) == [20, 0],
                "there are \(entries.map(\.attempts)) attempts and \(entries.map(\.handled.count)) handled routes")
        },
        Self("records of one call all count, in their order", needsDurable: true) { trial in
            let ids = try trial.add(3)
            try await trial.inbox.record([
                .begun(ids[0], attempt: 1), .failed(ids[0], handled: ["a"]), .begun(ids[1], attempt: 1),
                .ended(ids[1]), .begun(ids[2], attempt: 1),
            ])
            try await trial.inbox.record([])
            let entries = try trial.expectLeft([ids[0], ids[2]], "afterwards")
            trial.expect(
                entries.map(\.attempts) == [1, 1] && entries.first?.handled == ["a"],
                "there are \(entries.map(\.attempts)) attempts, and \(entries.first?.handled ?? []) has handled the "
                    + "first"
            )
            trial.expect(
                entries.map(\.crashes) == [0, 1] && entries.last?.crashedAlone == true,
                "only the last should have been in flight; the crashes are \(entries.map(\.crashes))")
        },
        Self("a record of an unknown payload changes nothing") { trial in
            let ids = try trial.add(2)
            try await trial.record(.ended(ids[0]))
            for id in [0, ids[0], ids[1] + 1, UInt64(Int64.max), UInt64(Int64.max) + 1, .max] {
                try await trial.record(.ended(id), .begun(id, attempt: 3), .failed(id, handled: ["a"]))
            }
            guard trial.isDurable else { return }
            let entries = try trial.expectLeft([ids[1]], "afterwards")
            trial.expect(
                entries.first?.attempts == 0 && entries.first?.handled == [], "the payload that is there has changed")
            let next = try trial.add(1)
            let later = try trial.expectLeft([ids[1]] + next, "when the next was added")
            trial.expect(later.last?.attempts == 0, "the next payload has the records of an earlier number")
        },
    ]

    // MARK: Fixtures

    /// A payload of one byte.
    static func payload(_ number: Int) -> RawPayload { RawPayload([UInt8(truncatingIfNeeded: number)]) }

    /// Payloads with values that are easily lost; the transports' ids of two are canonically equivalent.
    static let odd: [RawPayload] = {
        var again = RawPayload("{\"a\":1}", transport: .mqtt, transportMessageID: "m\u{0}1")
        again.isRedelivered = true
        again.mqtt = .odd
        return [
            again, RawPayload([]), RawPayload(Array(UInt8.min...UInt8.max), transport: "", transportMessageID: ""),
            RawPayload([0], transport: "e\u{301}", transportMessageID: "\u{E9}"),
            RawPayload([0], transport: "\u{E9}", transportMessageID: "e\u{301}"),
            RawPayload([UInt8](repeating: 0xFF, count: 65_536), transport: .fcm),
        ]
    }()

    /// The parts of a payload, and whether they are equal; two spellings of one character are not.
    static func parts(_ one: RawPayload, _ other: RawPayload) -> [(String, Bool)] {
        func isSame(_ one: String?, _ other: String?) -> Bool {
            one.map { Array($0.utf8) } == other.map { Array($0.utf8) }
        }
        return [
            ("bytes", one.bytes == other.bytes), ("redelivery", one.isRedelivered == other.isRedelivered),
            ("transport", isSame(one.transport?.name, other.transport?.name)),
            ("MQTT's words", one.mqtt == other.mqtt),
            ("transport's id", isSame(one.transportMessageID, other.transportMessageID)),
        ]
    }
}

extension MQTTPublish {
    /// What a broker may say, with values that are easily lost.
    static let odd: MQTTPublish = {
        var publish = MQTTPublish(topic: "a/\u{E9}\"/e\u{301}")
        (publish.isRetained, publish.expirySeconds, publish.contentType) = (true, .max, "")
        (publish.responseTopic, publish.correlationData) = ("r", Array(UInt8.min...UInt8.max))
        publish.userProperties = [("", "\n"), ("a", ""), ("a", "1")].map { .init(name: $0.0, value: $0.1) }
        return publish
    }()
}
