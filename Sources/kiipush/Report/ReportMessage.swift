import KiiPush
import KiiPushAgent
import KiiPushRules

/// One message in a report; texts are numbers in the report's lists.
struct ReportMessage {
    /// When it arrived, in milliseconds from the capture's beginning.
    var time: Int64
    var line: Int
    var kind: Int
    /// The bucket or topic.
    var place: Int
    /// Its ordering key: the object, the topic, or the kind.
    var lane: Int
    /// The first route that matches it.
    var route = 0
    var outcome = 0
    var reason = 0
    /// The way through the pipeline; -1 if the capacity is used up.
    var way = -1
    /// When a message that had to wait for its pace ended; nil for one that did not wait, or still does.
    var end: Int64?
    /// The payload's number among those shown; -1 for none.
    var payload = -1

    /// How long it waited for its pace; nil if it did not, or still does.
    var waited: Int64? { end.map { max(0, $0 - time) } }
}

/// A list of unique texts, to which messages refer by number.
struct ReportNames {
    private(set) var all: [String] = []
    private var numbers: [[UInt8]: Int] = [:]

    /// The most characters of a name; two that differ only after them count as one.
    static let mostCharacters = 120

    /// The number of a text, which is truncated and escaped.
    mutating func number(of text: String) -> Int {
        // By bytes: Swift treats two spellings of one character as equal.
        let key = Array(text.utf8.prefix(Self.mostCharacters * 4))
        if let number = numbers[key] { return number }
        let safe = escaped(text)
        all.append(safe.count <= Self.mostCharacters ? safe : safe.prefix(Self.mostCharacters - 1) + "…")
        numbers[key] = all.count - 1
        return all.count - 1
    }
}

/// A message's way through the pipeline, in the terms of `rules explain`; messages with the same way share it.
struct ReportWay: Hashable {
    struct Stage: Hashable {
        let name: String
        let verdict: String
    }

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
    var words = ""
    var certainty: String?
    var evidence: [String] = []
    var conflicts: [String] = []
    var rules: [Rule] = []

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
    /// The size limit of all ways; handled messages and duplicates may use half, which keeps those of rare outcomes.
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
