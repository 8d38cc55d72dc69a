import KiiPush

extension Explanation {
    /// All of it for a person: the message, the rules in order, the chain, the outcome.
    func lines(showsAll: Bool) -> [String] {
        messageLines + [""] + ruleLines(showsAll: showsAll) + [""] + chainLines + ["", outcomeLine] + hintLines
    }

    private var messageLines: [String] {
        let report = TextReport.lines(message, source: source, app: nil)
        return report.filter { !$0.hasPrefix("  dedupe") }
            + (message.raw.transport.map { ["  " + "transport".padded(to: 10) + escaped($0.name)] } ?? [])
    }

    // MARK: Rules

    private func ruleLines(showsAll: Bool) -> [String] {
        let count = rules.count
        var lines = ["\(file): \(count) rule\(count == 1 ? "" : "s"), the first that matches wins"]
        let idWidth = min(rules.map { Self.shown($0.rule.id).count }.max() ?? 0, 32)
        let placeWidth = rules.map { $0.rule.position.description.count }.max() ?? 0
        var untried = 0
        for rule in rules {
            if rule.standing == .notTried, !showsAll {
                untried += 1
                continue
            }
            let place = rule.rule.position.description.padded(to: placeWidth)
            let id = Self.shown(rule.rule.id).padded(to: idWidth)
            lines.append("  \(place)  \(id)  \(verdict(rule))")
            lines += checkLines(rule, indent: placeWidth + 4)
        }
        if untried > 0, let taker {
            lines.append(
                "  \(untried) later rule\(untried == 1 ? " is" : "s are") not tried, since '\(Self.shown(taker.id))' does not \"continue\""
                    + " (--all shows \(untried == 1 ? "it" : "them"))")
        }
        return lines
    }

    private func verdict(_ rule: Rule) -> String {
        let misses = rule.misses.count
        switch rule.standing {
        case .taken:
            let ending = rule.rule.flow == .continue ? ", and lets the next ones try" : ""
            return "TAKES IT, for \(Self.action(rule.rule))\(ending)"
        case .missed:
            if rule.isNearMiss { return "near miss: only \(Self.name(rule.misses[0])) does not fit" }
            return misses == 1 ? "does not fit" : "does not fit: \(misses) of \(rule.checks.count) conditions"
        case .notTried: return misses == 0 ? "not tried; it would fit" : "not tried; it would not fit"
        }
    }

    private static func action(_ rule: RoutingRule) -> String {
        switch rule.action {
        case .handler(let name): "the handler '\(shown(name))'"
        case .run(let arguments): "the program \(shown(arguments[0]))"
        case .print: "printing"
        }
    }

    private func checkLines(_ rule: Rule, indent: Int) -> [String] {
        let width = rule.checks.map { Self.name($0).count }.max() ?? 0
        let expectedWidth = min(rule.checks.map { Self.shown($0.expected).count }.max() ?? 0, 32)
        return rule.checks.map { check in
            let expected = Self.shown(check.expected)
            // A missing bucket or topic has a reason that one does not see in the rule.
            let actual = check.actual.map { Self.shown($0) } ?? "nothing"
            let sign = check.holds ? "ok  " : "miss"
            return String(repeating: " ", count: indent)
                + "\(sign)  \(Self.name(check).padded(to: width))  wants \(expected.padded(to: expectedWidth))  has \(actual)"
        }
    }

    private static func name(_ check: RouteCheck) -> String {
        check.key.map { "data '\(shown($0))'" } ?? check.name
    }

    // MARK: Chain and outcome

    private var chainLines: [String] {
        let width = stages.map(\.name.count).max() ?? 0
        return ["the way through the receiver"]
            + stages.map { "  \(escaped($0.name).padded(to: width))  \(escaped($0.verdict))" }
    }

    private var outcomeLine: String { "outcome: \(escaped(outcome.description)): \(escaped(outcomeInWords))" }

    /// What to look at when no rule takes the message.
    private var hintLines: [String] {
        guard case .unrouted = outcome else { return [] }
        let near = rules.filter(\.isNearMiss).prefix(3)
        return near.map { rule in
            let check = rule.misses[0]
            let has = check.actual.map { "has \(Self.shown($0))" } ?? "has nothing there"
            return "hint: '\(Self.shown(rule.rule.id))' (\(rule.rule.position)) would take it, but wants"
                + " \(Self.name(check)) \(Self.shown(check.expected)), and the message \(has)"
        }
    }

    /// A text fit for a column: safe for a terminal, and cut.
    private static func shown(_ text: String) -> String {
        let safe = escaped(text)
        return safe.count <= 60 ? safe : safe.prefix(59) + "…"
    }
}
