import KiiPush
import KiiPushAgent
import KiiPushSystem
import KiiPushRules

/// `kiipush report`: renders a capture as a page for a browser.
struct ReportCommand: ReadsRules {
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
            "--output", "FILE", "the page to write, replacing an earlier one; - for standard output",
            completes: .file
        ) { $0.output = $1 }.short("-o"),
        .value(
            "--rules", "FILE",
            "the rules to run the captured payloads through; without it, all are handled", completes: .file
        ) { $0.rules = $1 },
        .params, .param,
        .value("--app", "ID", "the app to serve, instead of the app in the rules") { $0.app = $1 },
        .state("the agent's state directory, which the commands that the page advises then name") { $0.state = $1 },
        .flag(
            "--values",
            "includes payloads, and the values that conditions on data and senders test"
        ) { $0.showsValues = true },
        .flag("--watch", "reports what a running agent does from now on, instead of a capture") {
            $0.isWatching = true
        },
        .value(
            "--for", "DURATION", "how long to watch, such as 10m; without it, until Ctrl-C or the agent's end",
            as: KillOptions.duration
        ) { $0.duration = $1 },
    ])

    static func run(_ arguments: [String], _ console: Console) async -> ExitCode {
        let reading = Self.command.read(arguments, by: table, into: ReportCommand(), console) {
            options, operands throws(Arguments.Mistake) in
            if options.isWatching {
                try Arguments.none(operands, hint: "--watch reads no capture")
                guard options.rules == nil, options.params.isEmpty, options.app == nil else {
                    throw Arguments.Mistake(
                        text: "--watch reports the agent's own rules: leave out --rules, --params, --param and --app")
                }
            } else if options.duration != nil {
                throw Arguments.Mistake(text: "--for needs --watch")
            } else if operands.count != 1 {
                throw Arguments.Mistake(text: "expected one capture, or --watch")
            }
            try options.params.check(rules: options.rules)
            guard !options.output.isEmpty else {
                throw Arguments.Mistake(text: "--output is missing, such as -o report.html")
            }
            options.capture = operands.first ?? ""
            if options.capture == "-", options.rules == "-" {
                throw Arguments.Mistake(text: "standard input cannot be both the capture and the rules")
            }
        }
        guard case .options(let options) = reading else { return reading.code }
        return await options.isWatching ? options.watch(console) : options.write(console)
    }

    private func write(_ console: Console) async -> ExitCode {
        var loaded: RoutingRules?
        if let rules {
            guard let read = RulesFile.load(rules, params, console) else { return .failed }
            loaded = read
        }
        do {
            guard let (report, isWhole) = try await read(loaded, console) else { return .failed }
            guard !report.messages.isEmpty else {
                console.error("\(escaped(capture)):1:1: the capture is empty; nothing to report")
                return .failed
            }
            return page(report, console) && isWhole ? .fine : .failed
        } catch {
            console.error(escaped("\(error)"))
            return .failed
        }
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
    private func read(
        _ rules: RoutingRules?, _ console: Console
    ) async throws -> (report: Report, isWhole: Bool)? {
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

    static let command = Command(
        name: "report", summary: "turns a capture into a page: what happened, and what to do about it",
        usage: ["[OPTION…] CAPTURE -o FILE", "--watch [--for DURATION] [OPTION…] -o FILE"],
        about: [
            .text(
                "CAPTURE is a file of payloads, one per line, as 'kiipush receive --capture' writes and 'rules diff' "
                    + "reads; or the output of 'kiipush tap --format json'; or - for standard input.")
        ],
        options: table.texts, operands: .file,
        notes: [
            .text(
                "The page is one file and needs no network. Captured payloads run through the receiver that the rules "
                    + "configure, on a clock that follows the capture; handlers do nothing and succeed, so only the "
                    + "output of 'tap' shows the results of an agent's own handlers. The page shows the names of "
                    + "buckets, objects, topics and scopes, and payloads only with --values. It is limited to the "
                    + "first 200,000 messages, 8 MiB of traces and 16 MiB of payloads, 4 KiB each.")
        ],
        exits: [
            (.fine, "written"),
            (.failed, "a file cannot be read or written, or a line is not a message; the page has the others"),
            (.nobody, "--watch: no agent is running"),
        ],
        examples: [
            "kiipush report Samples/Captures/loop.jsonl -o loop.html",
            "kiipush report --watch --for 10m -o now.html",
        ],
        action: { arguments, console in await run(arguments, console) })
}
