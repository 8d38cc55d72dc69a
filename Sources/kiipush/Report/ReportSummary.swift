import KiiPush
import KiiPushAgent

/// What happened in a capture, and what to do about it: the top of a report's page.
struct ReportSummary {
    struct Finding: Hashable {
        enum Tone: String {
            case bad
            case warning
            case note
            case good
        }

        let tone: Tone
        let what: String
        let advice: String
        /// A useful command; nil if there is none.
        var command: String?
        /// The messages concerned: an outcome's name, or `waited`; nil for all.
        var shows: String?
    }

    let headline: String
    let findings: [Finding]

    init(_ report: Report) {
        headline = Self.headline(report)
        var findings = Self.waits(report) + Self.outcomes(report) + Self.missing(report)
        if !findings.contains(where: { [.bad, .warning].contains($0.tone) }) {
            findings.insert(
                Finding(
                    tone: .good, what: "Nothing went wrong.",
                    advice: report.messages.isEmpty ? "There was no message." : "There is nothing to do."),
                at: 0)
        }
        // Findings that need action come first.
        let tones: [Finding.Tone] = [.good, .bad, .warning, .note]
        self.findings = tones.flatMap { tone in findings.filter { $0.tone == tone } }
    }

    static func headline(_ report: Report) -> String {
        let count = report.messages.count
        let span = (report.messages.last?.time ?? 0) - (report.messages.first?.time ?? 0)
        let counts = report.countsByOutcome.map { "\(Figures.count(Int64($0.count))) \($0.name)" }
        let length = count > 1 ? " in \(Figures.seconds(max(1, (span + 999) / 1000)))" : ""
        let what = "\(Figures.count(Int64(count))) message\(count == 1 ? "" : "s")\(length)"
        return counts.isEmpty ? what : "\(what): \(counts.joined(separator: ", "))"
    }

    // MARK: What had to wait

    /// The findings for the objects or topics of which the most messages had to wait, and one for the others.
    private static func waits(_ report: Report) -> [Finding] {
        let lanes = Dictionary(grouping: report.messages.filter(report.hasWaited), by: \.lane)
            .sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }
        let others = lanes.dropFirst(3)
        var findings = lanes.prefix(3).map { lane, messages in
            let (target, what) = killTarget(report, messages[0])
            return Finding(
                tone: tone(report, messages), what: waited(report, messages, report.lanes.all[lane]),
                advice: "If their handler writes to what it listens to, this is a loop: let it announce the write "
                    + "(context.writing, or a line 'write URI' of a program), or write somewhere else. If they come by "
                    + "themselves, \"pace\": \"unlimited\" in the rule lets them pass at once. To stop them now, switch "
                    + "\(what) off\(report.state == nil ? "; add --state DIR if the agent has one of its own" : ""):",
                command: command(report, "kill --for 10m", target.description), shows: "waited")
        }
        if !others.isEmpty {
            let messages = others.flatMap(\.value)
            let count = Figures.count(Int64(others.count))
            let what = others.count == 1 ? "another object or topic" : "\(count) more objects or topics"
            findings.append(
                Finding(
                    tone: tone(report, messages), what: waited(report, messages, what),
                    advice: "What is said of the others applies to them too.", shows: "waited"))
        }
        return findings
    }

    private static func tone(_ report: Report, _ messages: [ReportMessage]) -> Finding.Tone {
        messages.allSatisfy { report.outcome($0) == "handled" } ? .note : .warning
    }

    /// How many messages had to wait, for how long, and how they ended.
    private static func waited(_ report: Report, _ messages: [ReportMessage], _ name: String) -> String {
        let counts = report.counts(of: messages).map { name, count in
            "\(Figures.count(Int64(count))) \(name == "paced" ? "still waiting when the capture ends" : name)"
        }
        let longest = messages.compactMap(\.waited).max().map { " for up to \(Figures.time(Double($0)))" } ?? ""
        return "\(counted(messages.count)) of \(name) had to wait\(longest), since many came at once: "
            + "\(counts.joined(separator: ", "))."
    }

    /// What to switch off on the agent to stop messages like this one, and the words for it.
    private static func killTarget(_ report: Report, _ message: ReportMessage) -> (target: KillTarget, what: String) {
        let route = report.route(message)
        // Without rules, a replay has one route of its own, which no agent has.
        // A page escapes and cuts names.
        let isWhole = !route.utf8.contains(UInt8(ascii: "\\")) && !route.hasSuffix("…")
        if report.origin == .watched || report.rules != nil, route != Report.noRoute, isWhole,
            case let target? = KillTarget(route), case .route = target
        {
            return (target, "its route")
        }
        if let target = report.bucketURIs[message.lane].flatMap({ KillTarget($0) }) { return (target, "its bucket") }
        return (.everything, "everything (with --rules, the page names the route)")
    }

    /// A command for the report's agent, to paste into a shell.
    static func command(_ report: Report, _ words: String, _ operand: String? = nil) -> String {
        let state = report.state.map { " --state \(shellQuoted($0))" } ?? ""
        let rest = operand.map { "\($0.hasPrefix("-") ? " --" : "") \(shellQuoted($0))" } ?? ""
        return "kiipush \(words)\(state)\(rest)"
    }

    private static func shellQuoted(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            byte.isDigit || "-_./:".utf8.contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
        }
        if isPlain, !text.isEmpty { return text }
        return "'" + text.replacingScalars { $0 == "'" ? "'\\''" : nil } + "'"
    }

    private static func missing(_ report: Report) -> [Finding] {
        var findings: [Finding] = []
        if report.leftOut > 0 {
            findings.append(
                Finding(
                    tone: .warning,
                    what: "\(counted(report.leftOut)) left out: a report shows the first "
                        + "\(Figures.count(Int64(report.limit))).",
                    advice: "Split the capture, for example with 'split -l 200000'."))
        }
        if report.unseen > 0 {
            findings.append(
                Finding(
                    tone: .warning,
                    what: "\(counted(report.unseen)) missing: they arrived faster than 'kiipush tap' was read.",
                    advice: "Take a capture with 'kiipush receive --capture FILE', which misses none."))
        }
        return findings
    }

    static func counted(_ count: Int) -> String { "\(Figures.count(Int64(count))) message\(count == 1 ? "" : "s")" }
}

extension Report {
    /// The number of messages by outcome, the most frequent first.
    var countsByOutcome: [(name: String, count: Int)] { counts(of: messages) }

    func counts(of messages: [ReportMessage]) -> [(name: String, count: Int)] {
        var counts = [Int](repeating: 0, count: outcomes.all.count)
        for message in messages { counts[message.outcome] += 1 }
        return zip(outcomes.all, counts).filter { $0.1 > 0 }.map { (name: $0, count: $1) }
            .sorted { ($1.count, $0.name) < ($0.count, $1.name) }
    }

    /// The reasons of one outcome, the most frequent first.
    func reasons(of outcome: String) -> [(name: String, count: Int)] {
        var counts: [Int: Int] = [:]
        for message in messages where self.outcome(message) == outcome { counts[message.reason, default: 0] += 1 }
        return counts.map { (name: reasons.all[$0.key], count: $0.value) }
            .sorted { ($1.count, $0.name) < ($0.count, $1.name) }
    }
}
