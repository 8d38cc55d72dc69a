import KiiPushAgent
import KiiPush
import KiiPushTesting

/// Sends messages through two versions of rules and counts, by kind of change, those with different results.
struct RulesDiff {
    /// The result of a message under one version.
    struct Fate: Hashable {
        let outcome: String
        let reason: String?
        let rules: [String]
        let handlers: [String]

        init(_ receipt: TestReceipt) {
            outcome = receipt.outcome.name
            reason = receipt.outcome.reason
            rules = receipt.routes
            handlers = receipt.handlers
        }

        /// The result in a few words, such as `handled by settings` or `duplicate (done)`.
        var words: String {
            let name = reason.map { "\(outcome) (\($0))" } ?? outcome
            guard !rules.isEmpty else { return name }
            let by = "\(name) by \(rules.joined(separator: ", "))"
            // Handlers are named if they differ from the rules' ids.
            return handlers.isEmpty || handlers == rules ? by : "\(by), calling \(handlers.joined(separator: ", "))"
        }
    }

    private struct Change: Hashable {
        let old: Fate
        let new: Fate
    }

    fileprivate struct Tally {
        var count = 0
        var lines: [Int] = []
    }

    /// The most kinds of change that are distinguished; further ones are counted together.
    private static let mostChanges = 1000

    private let old: TestReceiver
    private let new: TestReceiver
    private let examples: Int
    private var tallies: [Change: Tally] = [:]
    private var others = Tally()
    private var elapsed = Duration.zero
    private(set) var messages = 0
    private(set) var changed = 0

    init(old: TestReceiver, new: TestReceiver, examples: Int) {
        self.old = old
        self.new = new
        self.examples = examples
    }

    /// Sends one message through both versions.
    mutating func send(_ payload: RawPayload, at time: Duration, line: Int) async {
        await old.advance(by: time - elapsed)
        await new.advance(by: time - elapsed)
        elapsed = time
        old.startWallClock(with: payload)
        new.startWallClock(with: payload)
        let change = Change(old: Fate(await old.send(payload)), new: Fate(await new.send(payload)))
        messages += 1
        guard change.old != change.new else { return }
        changed += 1
        if tallies[change] == nil, tallies.count >= Self.mostChanges {
            others.count += 1
            if others.lines.count < examples { others.lines.append(line) }
        } else {
            tallies[change, default: Tally()].count += 1
            if tallies[change]?.lines.count ?? 0 < examples { tallies[change]?.lines.append(line) }
        }
    }

    private var inOrder: [(change: Change, tally: Tally)] {
        tallies.map { (change: $0.key, tally: $0.value) }.sorted { left, right in
            if left.tally.count != right.tally.count { return left.tally.count > right.tally.count }
            if left.tally.lines.first != right.tally.lines.first {
                return left.tally.lines.first ?? .max < right.tally.lines.first ?? .max
            }
            return (left.change.old.words, left.change.new.words) < (right.change.old.words, right.change.new.words)
        }
    }

    // MARK: Text

    func lines(old: String, new: String, corpus: String) -> [String] {
        var lines = [
            "\(escaped(corpus)): \(messages) message\(messages == 1 ? "" : "s"), \(changed) "
                + "end\(changed == 1 ? "s" : "") otherwise under \(escaped(new)) than under \(escaped(old))"
        ]
        for (change, tally) in inOrder {
            lines.append("")
            lines.append("\(String(tally.count).leftPadded(to: 7))  was  \(escaped(change.old.words))")
            lines.append("         now  \(escaped(change.new.words))")
            if !tally.lines.isEmpty { lines.append("         \(Self.examples(tally, corpus))") }
        }
        if others.count > 0 {
            lines += [
                "", "\(String(others.count).leftPadded(to: 7))  in other ways",
                "         \(Self.examples(others, corpus))",
            ]
        }
        return lines
    }

    private static func examples(_ tally: Tally, _ corpus: String) -> String {
        let places = tally.lines.map { "\(escaped(corpus)):\($0)" }.joined(separator: ", ")
        return "at   \(places)\(tally.count > tally.lines.count ? ", …" : "")"
    }

    // MARK: JSON

    /// One object per change, and finally the summary.
    var jsonLines: [String] {
        var lines = inOrder.map { change, tally in
            JSONWriter.object { writer in
                writer.key("old")
                change.old.write(to: &writer)
                writer.key("new")
                change.new.write(to: &writer)
                tally.write(to: &writer)
            }
        }
        if others.count > 0 {
            lines.append(
                JSONWriter.object { writer in
                    writer.key("old")
                    writer.null()
                    writer.key("new")
                    writer.null()
                    others.write(to: &writer)
                })
        }
        let summary = JSONWriter.object { writer in
            writer.member("messages", messages)
            writer.member("changed", changed)
        }
        return lines + [summary]
    }

}

extension RulesDiff.Tally {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.member("count", count)
        writer.list("lines", lines) { $0.integer(Int64($1)) }
    }
}

extension RulesDiff.Fate {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("outcome", outcome)
            writer.member("reason", reason)
            writer.member("rules", rules)
            writer.member("handlers", handlers)
        }
    }
}

extension String {
    /// The text preceded by spaces, `width` characters in all.
    fileprivate func leftPadded(to width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }
}
