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

/// A message's way through the pipeline as a JSON object, in the terms of `rules explain`; messages with the same way
/// share it.
struct ReportWay: Hashable {
    let json: String
}

extension ReportWay {
    private static let mostCharacters = 200

    init(
        stages: [(name: String, verdict: String)], words: String, certainty: String? = nil, evidence: [String] = [],
        conflicts: [String] = [], rules: [Explanation.Rule] = [], showsValues: Bool = false
    ) {
        json = JSONWriter.object { writer in
            writer.objects("stages", stages) { writer, stage in
                writer.member("name", Self.shown(stage.name))
                writer.member("verdict", Self.shown(stage.verdict))
            }
            writer.member("words", Self.shown(words))
            writer.member("certainty", certainty)
            writer.member("evidence", evidence.map(Self.shown))
            writer.member("conflicts", conflicts.map(Self.shown))
            writer.objects("rules", rules) { writer, rule in
                writer.member("id", Self.shown(rule.rule.id))
                writer.member("standing", rule.standing.rawValue)
                writer.member("nearMiss", rule.isNearMiss)
                let checks = rule.standing == .notTried ? [] : rule.told.flatMap(\.withParts)
                writer.objects("checks", checks) { Self.write($1, showsValues, to: &$0) }
            }
        }
    }

    /// Uses the explanation of `rules explain`; `hasRules` is false for a report's default rules.
    init(_ explanation: Explanation, hasRules: Bool, showsValues: Bool) {
        let classification = explanation.message.classification
        self.init(
            stages: explanation.stages.map { ($0.name, $0.verdict) }, words: explanation.outcomeInWords,
            certainty: classification.certainty.rawValue, evidence: classification.evidence,
            conflicts: classification.conflicts.map { "\($0.name): \($0.reason)" },
            rules: hasRules ? explanation.rules : [], showsValues: showsValues)
    }

    init(undecodable error: DecodeError) {
        self.init(
            stages: [("decode", "\(error.code.rawValue), at byte \(error.offset)")], words: error.detail)
    }

    /// Writes a condition; the message's value is null if it has none, or values must not be shown.
    private static func write(_ check: RouteCheck, _ showsValues: Bool, to writer: inout JSONWriter) {
        // Inside of combined conditions, the name is a path.
        let field = check.name.split(separator: "/").last.map { String($0) } ?? ""
        let isHidden =
            !showsValues
            && (["data", "sender", "scopeID", "scope"].contains(field)
                || field == "mqtt" && check.expected.contains(exactly: "userProperties"))
        writer.member("name", check.name)
        writer.member("key", check.key.map(shown))
        writer.member("expected", shown(check.expected))
        writer.member("actual", isHidden ? nil : (check.actual ?? check.reason).map(shown))
        writer.member("hidden", isHidden && check.actual != nil)
        writer.member("holds", check.holds)
    }

    private static func shown(_ text: String) -> String {
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
        let size = way.json.utf8.count
        guard bytes + size <= (isDull ? Self.mostBytes / 2 : Self.mostBytes) else { return -1 }
        bytes += size
        all.append(way)
        numbers[way] = all.count - 1
        return all.count - 1
    }
}
