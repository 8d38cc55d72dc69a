import KiiPush
import KiiPushAgent
import KiiPushSystem
import KiiPushRules
import KiiPushTesting

/// Sends captured payloads through a receiver on a virtual clock, and records each result for a report.
struct ReplayedReport {
    /// The rules of a report without any: they match every message.
    static let noRules = #"{"version":1,"rules":[{"id":"all","then":{"print":true}}]}"#

    private var report: Report
    private let rules: RoutingRules
    private let hasRules: Bool
    private let test: TestReceiver
    private var corpus: RuleCorpus
    private var elapsed = Duration.zero
    /// The indices in the report of messages that wait for their pace, by the number of their first delivery.
    private var paced: [UInt64: Int] = [:]

    /// Without rules, a route matches everything; `app` replaces the rules' app.
    init(
        source: String, rules: RoutingRules?, app: String?, showsValues: Bool, limit: Int = Report.mostMessages
    ) throws(RulesError) {
        hasRules = rules != nil
        let rules = if let rules { rules } else { try RoutingRules(Self.noRules, file: "(none)") }
        self.rules = rules
        test = try TestReceiver(rules: rules, app: app)
        corpus = RuleCorpus(file: source)
        report = Report(source: source, origin: .replayed, showsValues: showsValues, limit: limit)
        report.rules = hasRules ? rules.file : nil
    }

    mutating func add(_ line: [UInt8], _ number: Int) async throws(RulesError) {
        let step = try corpus.step(line, number: number)
        guard case .receive(let incoming) = step.action else { return }
        guard report.messages.count < report.limit else { return report.leftOut += 1 }
        await advance(to: step.at)
        let payload = incoming.payload
        test.startWallClock(with: payload)
        if report.messages.isEmpty { report.beginning = test.clock.wallNow.flatMap { UTCDate(milliseconds: $0) } }
        append(await test.send(payload), number)
    }

    /// Advances to the time of the next message, and stops whenever one that waits is delivered again.
    private mutating func advance(to time: Duration) async {
        guard time > elapsed else { return }
        let end = test.clock.now.advanced(by: time - elapsed)
        elapsed = time
        while let due = test.nextDue, due < end {
            self.end(await test.advance(by: test.clock.now.duration(to: due)))
        }
        self.end(await test.advance(by: test.clock.now.duration(to: end)))
    }

    private mutating func append(_ receipt: TestReceipt, _ line: Int) {
        let message = receipt.trace.message
        var entry = report.message(
            at: Int64(elapsed / .milliseconds(1)), line: line, kind: message?.kind.rawValue,
            words: message?.kind.description, bucket: (message?.bucket?.name, message?.bucket?.uri.description),
            object: message?.object?.id, topic: message?.topic?.name, owner: message?.scope.id)
        fill(&entry, receipt)
        if let message { entry.payload = report.keep(payload: Array(message.raw.bytes)) }
        if case .paced = receipt.outcome { paced[receipt.trace.messageID] = report.messages.count }
        report.messages.append(entry)
    }

    /// Records which routes matched a message, its outcome, and the reasons.
    private mutating func fill(_ entry: inout ReportMessage, _ receipt: TestReceipt) {
        entry.route = report.routes.number(of: receipt.routes.first ?? Report.noRoute)
        entry.outcome = report.outcomes.number(of: receipt.outcome.name)
        entry.reason = report.reasons.number(of: receipt.outcome.reason ?? "")
        let isDull = ["handled", "duplicate"].contains(receipt.outcome.name)
        if let explanation = Explanation(rules, receipt, source: report.source) {
            let way = ReportWay(explanation, hasRules: hasRules, showsValues: report.showsValues)
            entry.way = report.ways.number(of: way, isDull: isDull)
        } else if case .undecodable(let error) = receipt.outcome {
            entry.way = report.ways.number(of: ReportWay(undecodable: error), isDull: false)
        }
    }

    /// Records the outcomes of messages that had to wait.
    private mutating func end(_ receipts: [TestReceipt]) {
        for receipt in receipts {
            guard let first = receipt.first, let index = paced.removeValue(forKey: first) else { continue }
            var entry = report.messages[index]
            entry.end = test.clock.now.nanoseconds / 1_000_000
            fill(&entry, receipt)
            report.messages[index] = entry
        }
    }

    mutating func finish() -> Report {
        report.finish()
        return report
    }
}
