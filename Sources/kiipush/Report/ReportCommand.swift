import KiiPush
import KiiPushAgent
import KiiPushRules
import KiiPushSystem
import Synchronization

struct ReportCommand: CommandWithOptions, ReadsRules {
    var params = ParameterOptions()
    private var capture = ""
    private var output = ""
    private var rules: String?
    private var app: String?
    private(set) var state: String?
    private(set) var showsValues = false
    private var isWatching = false
    private(set) var duration: Duration?

    static let table = OptionTable<ReportCommand>([
        .value(
            "--output", "FILE", "the page to write, replacing an earlier one; - for standard output", completes: .file
        ) { $0.output = $1 }.short("-o"),
        .value(
            "--rules", "FILE",
            "the rules to run the captured payloads through; without it, all are handled", completes: .file
        ) { $0.rules = $1 },
        .params, .param,
        .value("--app", "ID", "the app to serve, instead of the app in the rules") { $0.app = $1 },
        .state("the agent's state directory, which the commands that the page advises then name") { $0.state = $1 },
        .flag(
            "--values", "includes payloads, and the values that conditions on data and senders test"
        ) { $0.showsValues = true },
        .flag("--watch", "reports what a running agent does from now on, instead of a capture") {
            $0.isWatching = true
        },
        .value(
            "--for", "DURATION", "how long to watch, such as 10m; without it, until Ctrl-C or the agent's end",
            as: KillOptions.duration
        ) { $0.duration = $1 },
    ])

    mutating func check(_ operands: [String]) throws(Arguments.Mistake) {
        if isWatching {
            try Arguments.none(operands, hint: "--watch reads no capture")
            guard rules == nil, params.isEmpty, app == nil else {
                throw Arguments.Mistake(
                    text: "--watch reports the agent's own rules: leave out --rules, --params, --param and --app")
            }
        } else if duration != nil {
            throw Arguments.Mistake(text: "--for needs --watch")
        } else if operands.count != 1 {
            throw Arguments.Mistake(text: "expected one capture, or --watch")
        }
        try params.check(rules: rules)
        if output.isEmpty { throw Arguments.Mistake(text: "--output is missing, such as -o report.html") }
        capture = operands.first ?? ""
        try Arguments.checkStandardInput([capture, rules])
        try OutputKind(name: "page of 'kiipush report'", start: ReportPage.start).check("--output", output)
    }

    func run(_ console: Console) async -> ExitCode { await isWatching ? watch(console) : write(console) }

    private func write(_ console: Console) async -> ExitCode {
        var loaded: RoutingRules?
        if let rules {
            guard let read = RulesFile.load(rules, params, console) else { return .failed }
            loaded = read
        }
        do {
            guard let (report, isWhole) = try await read(loaded, console) else { return .failed }
            if report.messages.isEmpty, !isWhole { return .failed }
            guard !report.messages.isEmpty else {
                return console.fail("\(escaped(capture)):1:1: the capture has no messages; nothing to report")
            }
            return page(report, console) && isWhole ? .fine : .failed
        } catch { return console.fail(escaped("\(error)")) }
    }

    /// Writes the page, and says what is in it; returns whether it could be written.
    func page(_ made: Report, _ console: Console) -> Bool {
        var report = made
        report.state = state
        let text = ReportPage(report: report).text
        guard output != "-" else {
            console.print(text)
            return true
        }
        // Readable only by its owner, like the capture: a report contains user data.
        do throws(ErrorNumber) { try replaceFile(output, with: text, isDurable: false, waits: true) } catch {
            console.error("kiipush report: \(escaped(output)): cannot be written: \(error)")
            return false
        }
        console.print("\(escaped(output)): \(ReportSummary.headline(report))")
        return true
    }

    /// Reads the capture, whose first line determines its type; nil if the rules do not fit it, which is reported.
    private func read(_ rules: RoutingRules?, _ console: Console) async throws -> (report: Report, isWhole: Bool)? {
        let source = escaped(capture)
        var replayed: ReplayedReport?
        var watched: WatchedReport?
        var isUseless = false
        let isWhole = try await CorpusFile(path: capture, console: console).eachLine { bytes, number in
            if replayed == nil, watched == nil {
                if !WatchedReport.isTapped(bytes) {
                    replayed = try ReplayedReport(source: source, rules: rules, app: app, showsValues: showsValues)
                } else if rules != nil || app != nil {
                    console.error(
                        "\(source):\(number):1: this is output of 'kiipush tap', which cannot be combined with --rules "
                            + "or --app")
                    isUseless = true
                    return false
                } else {
                    watched = WatchedReport(source: source, showsValues: showsValues)
                }
            }
            try await replayed?.add(bytes, number)
            try watched?.add(bytes, number)
            return true
        }
        if isUseless { return nil }
        let report = replayed?.finish() ?? watched?.finish()
        return (report ?? Report(source: source, origin: .replayed, showsValues: showsValues), isWhole)
    }

    static let description = Command(
        name: "report", summary: "turns a capture into a page: what happened, and what to do about it",
        usage: ["[OPTION…] CAPTURE -o FILE", "--watch [--for DURATION] [OPTION…] -o FILE"],
        about: [
            "CAPTURE is a file of payloads, one per line, as 'kiipush receive --capture' writes and 'rules diff' "
                + "reads; or the output of 'kiipush tap --format json'; or - for standard input."
        ],
        operands: .file,
        notes: [
            "The page is one file and needs no network. Captured payloads run through the receiver that the rules "
                + "configure, on a clock that follows the capture; handlers do nothing and succeed, so only the "
                + "output of 'tap' shows the results of an agent's own handlers. The page shows the names of "
                + "buckets, objects, topics and scopes, and payloads only with --values. It is limited to the "
                + "first 200,000 messages, 8 MiB of traces and 16 MiB of payloads, 4 KiB each."
        ],
        exits: [
            (.fine, "written"),
            (.failed, "a file cannot be read or written, or a line is not a message; the page has the others"),
            (.nobody, "--watch: no agent is running"),
        ],
        examples: [
            "kiipush report Samples/Captures/loop.jsonl -o loop.html",
            "kiipush report --watch --for 10m -o now.html",
        ])
}

extension ReportCommand {
    /// Collects the messages of a running agent as they end, and writes the page when that is over.
    func watch(_ console: Console) async -> ExitCode {
        let agent: WatchedAgent
        do throws(Arguments.Mistake) { agent = WatchedAgent(directory: try StateOption.directory(state ?? "")) } catch {
            return console.fail("kiipush report: \(error.text)", .usage)
        }
        let watching = Watching(WatchedReport(source: agent.directory, showsValues: showsValues))
        // Ctrl-C is how most people end it: the page is what they waited for.
        let signals = console.isStandard ? StopSignals { exitProcess(end(watching, console)) } : nil
        defer { withExtendedLifetime(signals) {} }
        do {
            try await agent.control.meet()
            if console.isStandard { console.error("watching \(escaped(agent.directory)); Ctrl-C writes the page") }
            let code = try await agent.control.ask(
                ["tap", "--format", "json"], until: duration.map { .now + $0 },
                print: { line in watching.add(line, console) }, error: console.error)
            guard code == ExitCode.fine.rawValue else { return ExitCode(rawValue: code) ?? .failed }
        } catch SocketError.nobodyAnswers(_, let number) where number == SocketError.brokenOff {
            console.error("kiipush report: the agent closed the connection; the page ends there")
        } catch {
            return agent.tell(agent.silence(error), "report", console)
        }
        return end(watching, console)
    }

    private func end(_ watching: Watching, _ console: Console) -> ExitCode {
        // Nil if a signal and the watch end at the same time: the other one writes the page.
        guard let report = watching.finish() else { return .fine }
        return page(report, console) ? .fine : .failed
    }
}

/// The report that grows while an agent is watched.
private final class Watching: Sendable {
    private let state: Mutex<(report: WatchedReport?, lines: Int)>

    init(_ report: WatchedReport) { state = Mutex((report, 0)) }

    func add(_ line: String, _ console: Console) {
        state.withLock { state in
            state.lines += 1
            do throws(CaptureError) { try state.report?.add(Array(line.utf8), state.lines) } catch {
                console.error("kiipush report: \(error.description)")
            }
        }
    }

    /// The report of everything so far, once; nil afterwards.
    func finish() -> Report? {
        var report = state.withLock { $0.report.take() }
        return report?.finish()
    }
}
