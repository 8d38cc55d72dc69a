import KiiPush
import KiiPushRules
import KiiPushAgent
import KiiPushSystem
import KiiPushTesting

struct RulesExplainCommand: CommandWithOptions, ReadsRules {
    var params = ParameterOptions()
    private var file = ""
    private var payload = ""
    private var isText = false
    private var transport: Transport?
    private var app: String?
    /// The wall clock's time in milliseconds since 1970; nil for the current time.
    private var now: Int64?
    private var showsAll = false
    private var format = ReportFormat.text

    static let table = OptionTable<RulesExplainCommand>([
        .flag("--text", "PAYLOAD is the payload itself") { $0.isText = true },
        .value("--transport", "NAME", "the network that delivered the payload; rules may test it") {
            $0.transport = Transport($1)
        },
        .value("--app", "ID", "the app to serve, instead of the app in the rules") { $0.app = $1 },
        .value(
            "--now", "MS",
            "the current time for 'maxAge', in milliseconds since 1970, like 'when'; the system clock if not "
                + "given", as: Arguments.milliseconds(", as 'when' has them")
        ) { $0.now = $1 },
        .flag("--all", "also shows the conditions of rules after the one that matches") { $0.showsAll = true },
        .params, .param,
        .format("text for people (the default), or json: one object on one line") { $0.format = $1 },
    ])

    mutating func check(_ operands: [String]) throws(Arguments.Mistake) {
        guard operands.count == 2 else { throw Arguments.Mistake(text: "expected a rules file and a payload") }
        (file, payload) = (operands[0], operands[1])
        if !isText { try Arguments.checkStandardInput(operands) }
    }

    private var source: String { isText ? "text" : payload }

    func run(_ console: Console) async -> ExitCode {
        guard let rules = RulesFile.load(file, params, console, format), let bytes = read(console) else {
            return .failed
        }
        do {
            let payload = try PastedPayload(bytes, transport: transport, app: app ?? rules.app)
            let clock = ManualClock(wallNow: now ?? UTCDate.now.milliseconds)
            let receipt = try await TestReceiver(rules: rules, app: app, clock: clock).send(payload.raw)
            // The payload was already decoded, so only the receiver could refuse it now.
            guard let explanation = Explanation(rules, receipt, source: source) else { return .failed }
            switch format {
            case .json: console.print(explanation.json)
            case .text: for line in explanation.lines(showsAll: showsAll, ink: console.ink) { console.print(line) }
            }
            return .fine
        } catch let error as DecodeError {
            report(error, at: SourcePosition(error.offset, in: bytes), hint: PastedPayload.hint(bytes, error), console)
        } catch {
            console.error(escaped("\(error)"))
        }
        return .failed
    }

    private func report(_ error: DecodeError, at place: SourcePosition, hint: String = "", _ console: Console) {
        if format == .json { console.print(JSONReport.line(error, source: source)) }
        console.error("\(escaped(source)):\(place): \(error.code.rawValue): \(error.detail)\(hint)")
    }

    private func read(_ console: Console) -> [UInt8]? {
        let limits = PastedPayload.limits
        if isText { return Array(payload.utf8) }
        do throws(ReadError) {
            return try ByteReader.named(payload).readAll(limit: PastedPayload.mostBytes)
        } catch .tooLarge {
            report(limits.tooLarge, at: SourcePosition(line: 1, column: limits.bytes + 1), console)
            return nil
        } catch {
            console.complain(
                error, of: payload, contents: "kiipush rules explain: a payload itself needs --text before it")
            return nil
        }
    }

    static let description = Command(
        name: "rules explain", summary: "shows which rule matches a payload, and why the others do not",
        usage: ["[OPTION…] RULES PAYLOAD"],
        about: [
            "PAYLOAD is a file, or - for standard input: whatever 'kiipush inspect' reads, such as JSON, a line of "
                + "a capture, or a payload as a log prints it."
        ],
        operands: .file,
        notes: [
            "The payload runs through the middleware that the file configures, as the first one of a new receiver, "
                + "without running programs or handlers. The output shows the kind and the evidence for it, each "
                + "rule in order with its conditions and the payload's values, the verdict of each middleware, and "
                + "the outcome."
        ],
        exits: [(.fine, "explained"), (.failed, "the rules or the payload cannot be read")])
}
