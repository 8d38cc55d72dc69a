import KiiPushAgent
import KiiPush
import KiiPushRules

/// A message's way through the pipeline, in the terms of `rules explain`; messages with the same way share it.
struct ReportWay: Hashable {
    struct Stage: Hashable {
        let name: String
        let verdict: String
    }

    /// The result of one condition of a rule.
    struct Check: Hashable {
        let name: String
        let key: String?
        let expected: String
        /// The message's value; nil if it has none, or values must not be shown.
        let actual: String?
        let isHidden: Bool
        let holds: Bool
    }

    struct Rule: Hashable {
        let id: String
        let standing: String
        let isNearMiss: Bool
        let checks: [Check]
    }

    var stages: [Stage] = []
    /// The meaning of the outcome.
    var words = ""
    var certainty: String?
    var evidence: [String] = []
    var conflicts: [String] = []
    var rules: [Rule] = []

    /// Its approximate size in the report, in bytes.
    var size: Int {
        let texts =
            stages.flatMap { [$0.name, $0.verdict] } + evidence + conflicts
            + rules.flatMap { rule in [rule.id] + rule.checks.flatMap { [$0.expected, $0.actual ?? ""] } }
        return texts.reduce(words.utf8.count + 64) { $0 + $1.utf8.count + 24 }
    }
}

extension ReportWay {
    private static let mostCharacters = 200

    /// Uses the explanation of `rules explain`; `hasRules` is false for a report's default rules.
    init(_ explanation: Explanation, hasRules: Bool, showsValues: Bool) {
        stages = explanation.stages.map { Stage(name: Self.shown($0.name), verdict: Self.shown($0.verdict)) }
        words = Self.shown(explanation.outcomeInWords)
        certainty = explanation.message.certainty.rawValue
        evidence = explanation.message.classification.evidence.map(Self.shown)
        conflicts = explanation.message.classification.conflicts.map { Self.shown("\($0.name): \($0.reason)") }
        guard hasRules else { return }
        rules = explanation.rules.map { rule in
            let checks = rule.told.flatMap(\.withParts).map { check in
                // Inside of combined conditions, the name is a path.
                let field = check.name.split(separator: "/").last.map { String($0) } ?? ""
                let isHidden =
                    !showsValues
                    && (["data", "sender", "scopeID", "scope"].contains(field)
                        || field == "mqtt" && check.expected.contains(exactly: "userProperties"))
                return Check(
                    name: check.name, key: check.key.map(Self.shown), expected: Self.shown(check.expected),
                    actual: isHidden ? nil : check.actual.map(Self.shown) ?? check.reason.map(Self.shown),
                    isHidden: isHidden && check.actual != nil, holds: check.holds)
            }
            return Rule(
                id: Self.shown(rule.rule.id), standing: rule.standing.rawValue, isNearMiss: rule.isNearMiss,
                checks: rule.standing == .notTried ? [] : checks)
        }
    }

    /// Uses the error of an undecodable message.
    init(undecodable error: DecodeError) {
        stages = [Stage(name: "decode", verdict: "\(error.code.rawValue), at byte \(error.offset)")]
        words = Self.shown(error.detail)
    }

    static func shown(_ text: String) -> String {
        let safe = escaped(text)
        return safe.count <= mostCharacters ? safe : safe.prefix(mostCharacters - 1) + "…"
    }
}

/// The unique ways of a report, within a size limit.
struct ReportWays {
    /// The size limit of all ways; handled messages and duplicates may use half of it, so that the ways of rare
    /// outcomes are kept.
    static let mostBytes = 8 << 20

    private(set) var all: [ReportWay] = []
    private var numbers: [ReportWay: Int] = [:]
    private var bytes = 0

    /// The number of a way; -1 if the capacity is used up.
    mutating func number(of way: ReportWay, isDull: Bool) -> Int {
        if let number = numbers[way] { return number }
        let size = way.size
        guard bytes + size <= (isDull ? Self.mostBytes / 2 : Self.mostBytes) else { return -1 }
        bytes += size
        all.append(way)
        numbers[way] = all.count - 1
        return all.count - 1
    }
}
