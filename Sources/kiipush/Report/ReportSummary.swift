import KiiPush

/// What happened in a capture, and what to do about it: the top of a report's page.
struct ReportSummary {
    struct Finding: Hashable {
        /// Its severity.
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
        /// The messages concerned: an outcome's name, `loop` or `burst`; nil for all.
        var shows: String?
    }

    let headline: String
    let findings: [Finding]

    init(_ report: Report) {
        headline = Self.headline(report)
        var findings = Self.loops(report) + Self.outcomes(report) + Self.missing(report)
        if !findings.contains(where: { [.bad, .warning].contains($0.tone) }) {
            findings.insert(
                Finding(
                    tone: .good, what: "Nothing went wrong.",
                    advice: report.messages.isEmpty ? "The capture has no message." : "There is nothing to do."),
                at: 0)
        }
        // Findings that need action come first.
        let tones: [Finding.Tone] = [.good, .bad, .warning, .note]
        self.findings = tones.flatMap { tone in findings.filter { $0.tone == tone } }
    }

    /// The number of messages and their outcomes, on one line.
    static func headline(_ report: Report) -> String {
        let count = report.messages.count
        let span = (report.messages.last?.time ?? 0) - (report.messages.first?.time ?? 0)
        let counts = report.countsByOutcome.map { "\(Figures.count(Int64($0.count))) \($0.name)" }
        let length = count > 1 ? " in \(Figures.seconds(max(1, (span + 999) / 1000)))" : ""
        let what = "\(Figures.count(Int64(count))) message\(count == 1 ? "" : "s")\(length)"
        return counts.isEmpty ? what : "\(what): \(counts.joined(separator: ", "))"
    }

    // MARK: Storms

    private static func loops(_ report: Report) -> [Finding] {
        storms(report, .loop) { storm, name in
            let (target, what) = killTarget(report, storm)
            return Finding(
                tone: .bad,
                what: "Loop on \(name): \(counted(storm.messages)) in \(Figures.seconds(storm.seconds)); handling them "
                    + "brought more. The loop guard slowed it down: it held some for up to "
                    + "\(Figures.time(Double(storm.longestHold)))"
                    + (storm.stillHeld > 0 ? ", and \(storm.stillHeld) still when the capture ends." : "."),
                advice: "Find the handler that writes to what it listens to. Let it announce the write "
                    + "(context.willWrite, or a line 'write URI' of a program), or write somewhere else. To stop it now, "
                    + "switch \(what) off\(report.state == nil ? "; add --state DIR if the agent has one of its own" : ""):",
                command: command(report, "kill --for 10m", target.description), shows: "loop")
        }
            + storms(report, .burst) { storm, name in
                Finding(
                    tone: .note,
                    what: "Burst on \(name): \(counted(storm.messages)) in \(Figures.seconds(storm.seconds)). The loop "
                        + "guard held some for up to \(Figures.time(Double(storm.longestHold))), found no loop, and let "
                        + "all follow.",
                    advice:
                        "Nothing is lost. If the delay is too long, give the rule a higher \"rate\" under \"loop\".",
                    shows: "burst")
            }
            + held(report)
    }

    private static func held(_ report: Report) -> [Finding] {
        let open = report.messages.count {
            report.outcome($0) == "held" && $0.guarding.intersection([.loop, .burst]).isEmpty
        }
        guard open > 0 else { return [] }
        return [
            Finding(
                tone: .warning, what: "\(counted(open)) still held when the capture ends.",
                advice: "The loop guard has not decided yet whether this is a loop. Check the agent:",
                command: command(report, "held list"), shows: "held")
        ]
    }

    /// The findings for the largest storms, and one for the others.
    private static func storms(
        _ report: Report, _ sort: ReportMessage.Guarding, _ finding: (Report.Storm, String) -> Finding
    ) -> [Finding] {
        let storms = report.storms(sort)
        // Lanes that were only affected by a hold of a whole bucket or route are combined in one line.
        let large = storms.filter { sort == .loop || $0.messages >= leastOfStorm }.prefix(3)
        var findings = large.map { finding($0, report.lanes.all[$0.lane]) }
        let others = storms.filter { storm in !large.contains { $0.lane == storm.lane } }
        if !others.isEmpty {
            let messages = counted(others.reduce(0) { $0 + $1.messages })
            let longest = Figures.time(Double(others.map(\.longestHold).max() ?? 0))
            let isLoop = sort == .loop
            findings.append(
                Finding(
                    tone: isLoop ? .bad : .note,
                    what: isLoop
                        ? "\(Figures.count(Int64(others.count))) more loops, with \(messages)."
                        : "\(messages) of \(Figures.count(Int64(others.count))) "
                            + "object\(others.count == 1 ? "" : "s") or topics held for up to \(longest), and then handled.",
                    advice: isLoop
                        ? "They stop when their handlers announce their writes."
                        : "No loop was found; nothing is lost.",
                    shows: isLoop ? "loop" : "burst"))
        }
        return findings
    }

    /// The fewest messages of a burst with a finding of its own.
    private static let leastOfStorm = 10

    /// What to switch off on the agent to stop a storm, and the words for it.
    private static func killTarget(_ report: Report, _ storm: Report.Storm) -> (target: KillTarget, what: String) {
        let route = report.routes.all[storm.route]
        // Without rules, a replay has one route of its own, which no agent has.
        // A page escapes and cuts names.
        let isWhole = !route.utf8.contains(UInt8(ascii: "\\")) && !route.hasSuffix("…")
        if report.origin == .watched || report.rules != nil, route != Report.noRoute, isWhole,
            case let target? = KillTarget(route), case .route = target
        {
            return (target, "its route")
        }
        if let target = report.bucketURIs[storm.lane].flatMap({ KillTarget($0) }) { return (target, "its bucket") }
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

    /// A number of messages, in words.
    static func counted(_ count: Int) -> String { "\(Figures.count(Int64(count))) message\(count == 1 ? "" : "s")" }
}

extension Report {
    /// The number of messages by outcome, the most frequent first.
    var countsByOutcome: [(name: String, count: Int)] {
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
