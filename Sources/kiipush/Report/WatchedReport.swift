import KiiPush
import KiiPushAgent
import KiiPushSystem
import KiiPushRules

/// Makes a report from the output of `kiipush tap --format json`: the outcome of each message of a running agent.
struct WatchedReport {
    private var report: Report
    private let file: String
    /// The indices in the report of messages that wait for their pace, by their number in the agent.
    private var paced: [Int64: Int] = [:]

    init(source: String, showsValues: Bool) {
        file = source
        report = Report(source: source, origin: .watched, showsValues: showsValues)
    }

    static func isTapped(_ line: [UInt8]) -> Bool {
        guard let value = DataValue(json: String(decoding: line, as: UTF8.self)) else { return false }
        return value["leftOut"] != nil || (value["outcome"] != nil && value["time"] != nil)
    }

    mutating func add(_ line: [UInt8], _ number: Int) throws(CaptureError) {
        guard let value = DataValue(json: String(decoding: line, as: UTF8.self)) else {
            throw error("this is no JSON", number)
        }
        if let count = value["leftOut"]?.integer { return report.unseen += Int(clamping: max(count, 0)) }
        guard let outcome = value["outcome"]?.string, let text = value["time"]?.string, let date = UTCDate(text) else {
            throw error("expected a line of 'kiipush tap --format json', with 'time' and 'outcome'", number)
        }
        let message = value["message"]?.integer ?? -1
        if let index = paced[message], outcome != "paced" {
            paced[message] = nil
            var entry = report.messages[index]
            entry.end = max(date.milliseconds, entry.time)
            fill(&entry, value, outcome)
            report.messages[index] = entry
            return
        }
        guard report.messages.count < report.limit else { return report.leftOut += 1 }
        let spent = (value["waited"]?.double ?? 0) + (value["took"]?.double ?? 0)
        let (kind, bucket) = (value["kind"]?.string, value["bucket"])
        var entry = report.message(
            at: date.milliseconds - Int64(min(max(spent, 0), 1e12)), line: number, kind: kind, words: kind,
            bucket: (bucket?["name"]?.string, bucket?["uri"]?.string), object: value["object"]?["id"]?.string,
            topic: value["topic"]?["name"]?.string, owner: value["scope"]?["id"]?.string)
        fill(&entry, value, outcome)
        if report.showsValues { entry.payload = report.keep(payload: line) }
        if outcome == "paced" { paced[message] = report.messages.count }
        report.messages.append(entry)
    }

    private mutating func fill(_ entry: inout ReportMessage, _ value: DataValue, _ outcome: String) {
        entry.route = report.routes.number(of: value["route"]?.string ?? Report.noRoute)
        entry.outcome = report.outcomes.number(of: OutcomeCounters.outcomes.contains(outcome) ? outcome : "failed")
        entry.reason = report.reasons.number(of: value["reason"]?.string ?? "")
        let stages = [
            ("decode", value["kind"]?.string), ("route", Self.texts(value["routes"]).joined(separator: ", ")),
            ("agent", value["why"]?.string), ("error", value["error"]?["code"]?.string),
        ].compactMap { name, verdict in verdict.flatMap { $0.isEmpty ? nil : (name: name, verdict: $0) } }
        let way = ReportWay(
            stages: stages, words: Explanation.words(outcome, reason: value["reason"]?.string),
            certainty: value["certainty"]?.string, evidence: Self.texts(value["evidence"]),
            conflicts: Self.texts(value["conflicts"]))
        entry.way = report.ways.number(of: way, isDull: ["handled", "duplicate"].contains(outcome))
    }

    private static func texts(_ value: DataValue?) -> [String] {
        if case .array(let elements) = value { elements.compactMap(\.string) } else { [] }
    }

    private func error(_ what: String, _ line: Int) -> CaptureError {
        CaptureError(description: "\(file):\(line):1: \(what)")
    }

    mutating func finish() -> Report {
        report.finish()
        return report
    }
}
