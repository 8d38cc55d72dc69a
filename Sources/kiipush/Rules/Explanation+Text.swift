import KiiPush
import KiiPushRules
import KiiPushAgent
import KiiPushTesting

extension Explanation {
    /// The whole explanation for people: the message, the rules in order, the chain, the outcome.
    func lines(showsAll: Bool, ink: Ink = .none) -> [String] {
        messageLines(ink) + [""] + ruleLines(showsAll: showsAll, ink) + [""] + chainLines + ["", outcomeLine(ink)]
            + cloudLines + hintLines(ink)
    }

    private func messageLines(_ ink: Ink) -> [String] {
        let report = TextReport.lines(message, source: source, app: nil, ink: ink)
        return report.filter { !$0.hasPrefix("  dedupe") }
            + (message.raw.transport.map { ["  " + "transport".padded(to: 10) + escaped($0.name)] } ?? [])
    }

    // MARK: Rules

    private func ruleLines(showsAll: Bool, _ ink: Ink) -> [String] {
        var lines = ["\(file): \(counted(rules.count, "rule")), the first that matches wins"]
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
            lines.append("  \(place)  \(id)  \(ink(verdict(rule), tone(rule)))")
            lines += checkLines(rule, indent: placeWidth + 4, ink)
            if rule.isFirst, let dedupe = rule.rule.options.dedupe {
                lines.append(idLine(dedupe, indent: placeWidth + 4))
            }
        }
        if untried > 0, let taker {
            lines.append(
                "  \(untried) later rule\(untried == 1 ? " is" : "s are") not tried, since '\(Self.shown(taker.id))' "
                    + "does not \"continue\" (--all shows \(untried == 1 ? "it" : "them"))")
        }
        return lines
    }

    private func verdict(_ rule: Rule) -> String {
        let misses = rule.misses.count
        switch rule.standing {
        case .taken:
            let ending = rule.rule.options.flow == .continue ? "; the next ones may try too" : ""
            if isTooOld(for: rule.rule) { return "TAKES IT, and does nothing: it is older than 'maxAge'\(ending)" }
            return "TAKES IT: \(Self.shown(Self.words(rule.rule.action)))\(ending)"
        case .missed:
            if rule.isNearMiss { return "near miss: only \(Self.name(rule.misses[0])) does not fit" }
            return misses == 1 ? "does not fit" : "does not fit: \(misses) of \(rule.told.count) conditions"
        case .notTried: return misses == 0 ? "not tried; it would fit" : "not tried; it would not fit"
        }
    }

    private func tone(_ rule: Rule) -> Ink.Tone? {
        switch rule.standing {
        case .taken: isTooOld(for: rule.rule) ? .warning : .good
        case .missed: rule.isNearMiss ? .warning : nil
        case .notTried: nil
        }
    }

    private func checkLines(_ rule: Rule, indent: Int, _ ink: Ink) -> [String] {
        let checks = rule.told.flatMap(\.withParts)
        let space = String(repeating: " ", count: indent)
        if checks.isEmpty { return [space + "ok    no conditions"] }
        let width = checks.map { Self.name($0).count }.max() ?? 0
        let expectedWidth = min(checks.map { Self.shown($0.expected).count }.max() ?? 0, 40)
        return checks.map { check in
            let expected = Self.shown(check.expected).padded(to: expectedWidth)
            let sign = check.holds ? ink("ok", .good) + "  " : ink("miss", .bad)
            let found = check.parts.isEmpty ? "has \(actual(check))" : check.reason ?? ""
            return "\(space)\(sign)  \(Self.name(check).padded(to: width))  wants \(expected)  \(found)"
        }
    }

    private func idLine(_ dedupe: RouteDedupe, indent: Int) -> String {
        let space = String(repeating: " ", count: indent)
        let field = "id    \(Self.shown(dedupe.field))"
        guard let id = dedupe.id(of: message) else { return "\(space)\(field) is no id here: automatic keys" }
        return "\(space)\(field) names the message: \(Self.shown(id.quotedAsJSON))"
    }

    private func actual(_ check: RouteCheck) -> String {
        if let actual = check.actual { return Self.shown(actual) }
        if !check.parts.isEmpty { return "values of which \(check.reason ?? "")" }
        let advice = check.name.hasSuffix("transport") ? "; use --transport" : ""
        return "nothing" + (check.reason.map { ": \($0)\(advice)" } ?? "")
    }

    private static func name(_ check: RouteCheck) -> String {
        check.key.map { "\(check.name) '\(shown($0))'" } ?? check.name
    }

    // MARK: Chain and outcome

    private var chainLines: [String] {
        let width = stages.map(\.name.count).max() ?? 0
        return ["the way through the receiver"]
            + stages.map { "  \(escaped($0.name).padded(to: width))  \(escaped($0.verdict))" }
    }

    private func outcomeLine(_ ink: Ink) -> String {
        "outcome: \(ink(escaped(receipt.outcome.description), .strong)): \(escaped(outcomeInWords))"
    }

    /// The rules' cloud actions, with placeholders filled in; an explanation performs none.
    private var cloudLines: [String] { receipt.cloud.map { "would do, but not here: \(escaped($0.description))" } }

    /// Hints for a message that no rule matches.
    private func hintLines(_ ink: Ink) -> [String] {
        guard case .unrouted = receipt.outcome else { return [] }
        let near = rules.filter(\.isNearMiss).prefix(3)
        return near.map { rule in
            let check = rule.misses[0]
            return ink("hint", .warning)
                + ": '\(Self.shown(rule.rule.id))' (\(rule.rule.position)) would take it, but wants"
                + " \(Self.name(check)) \(Self.shown(check.expected)), and the message has \(actual(check))"
        }
    }

    private static func shown(_ text: String) -> String {
        let safe = escaped(text)
        return safe.count <= 60 ? safe : safe.prefix(59) + "…"
    }
}

extension RouteCheck {
    var withParts: [RouteCheck] { [self] + parts.flatMap(\.withParts) }
}
