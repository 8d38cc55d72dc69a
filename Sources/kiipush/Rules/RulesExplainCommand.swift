import KiiPush
import KiiPushLinux
import KiiPushTesting

/// `kiipush rules explain`: one payload through the real chain, with every reason.
struct RulesExplainCommand {
    private var file = ""
    private var payload = ""
    private var isText = false
    private var transport: Transport?
    private var app: String?
    /// The wall clock's time in milliseconds since 1970; nil for the present.
    private var now: Int64?
    private var showsAll = false
    private var format = ReportFormat.text
    private var wantsHelp = false

    private init(_ arguments: [String]) throws(Arguments.Mistake) {
        var arguments = Arguments(arguments)
        while let option = try arguments.nextOption() {
            switch option {
            case "--transport": transport = Transport(try arguments.value(of: option))
            case "--app": app = try arguments.value(of: option)
            case "--now":
                let text = try arguments.value(of: option)
                guard let time = Int64(text), time >= 0 else {
                    throw Arguments.Mistake(
                        text: "--now takes milliseconds since 1970, as 'when' has them, not '\(escaped(text))'")
                }
                now = time
            case "--text": isText = true
            case "--all": showsAll = true
            case "--format": format = try arguments.value(of: option, among: ReportFormat.choices)
            case "--help", "-h": wantsHelp = true
            default:
                throw Arguments.Mistake(
                    unknown: option, known: ["--transport", "--app", "--now", "--text", "--all", "--format"])
            }
        }
        if wantsHelp { return }
        guard arguments.operands.count == 2 else {
            throw Arguments.Mistake(text: "it needs a rules file and a payload")
        }
        (file, payload) = (arguments.operands[0], arguments.operands[1])
        if file == "-", payload == "-", !isText {
            throw Arguments.Mistake(text: "standard input cannot be both the rules and the payload")
        }
    }

    static func run(_ arguments: [String], _ console: Console) async -> ExitCode {
        do {
            let command = try RulesExplainCommand(arguments)
            if command.wantsHelp {
                console.print(help)
                return .fine
            }
            return await command.explain(console)
        } catch {
            console.error("kiipush rules explain: \(error.text); try 'kiipush rules explain --help'")
            return .usage
        }
    }

    private var source: String { isText ? "text" : payload }

    private func explain(_ console: Console) async -> ExitCode {
        guard let rules = RulesFile.load(file, console), let bytes = read(console) else { return .failed }
        do {
            let payload = try PastedPayload(bytes, transport: transport, app: app ?? rules.app)
            let clock = ManualClock(wallNow: now ?? UTCDate.now.milliseconds)
            let receipt = try await TestReceiver(rules: rules, app: app, clock: clock).send(payload.raw)
            // One decoder read it before, so that only its receiver could refuse it now.
            guard let explanation = Explanation(rules, receipt, source: source) else { return .failed }
            switch format {
            case .json: console.print(explanation.json)
            case .text: for line in explanation.lines(showsAll: showsAll) { console.print(line) }
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
        console.error("\(escaped(source)):\(place): \(error.code.rawValue): \(error.detail)\(hint)")
    }

    private func read(_ console: Console) -> [UInt8]? {
        let limits = PastedPayload.limits
        if isText { return Array(payload.utf8) }
        do throws(ReadError) {
            let reader = payload == "-" ? .standardInput() : try ByteReader(path: payload)
            return try reader.readAll(limit: limits.bytes)
        } catch .tooLarge {
            report(limits.tooLarge, at: SourcePosition(line: 1, column: limits.bytes + 1), console)
            return nil
        } catch {
            let isPayload = payload.utf8.contains(UInt8(ascii: "{"))
            console.error(
                isPayload ? "kiipush rules explain: a payload itself needs --text before it" : error.description)
            return nil
        }
    }

    static let help = """
        kiipush rules explain: says what a rules file does with one payload, and why

        usage: kiipush rules explain [OPTION…] RULES PAYLOAD

        PAYLOAD is a file, or - for standard input: JSON, or what Apple's logs print of a payload, as for
        'kiipush inspect'.

          --text             PAYLOAD is the payload itself
          --transport NAME   the network it came over; rules may ask for it
          --app ID           the app that is served, instead of the file's
          --now MS           the date by which it is judged for 'maxAge', in milliseconds since 1970 as
                             'when' has them; the present if not given
          --all              shows the conditions of rules behind the one that takes it, too
          --format FORMAT    text for people (the default), or json: one object on one line
          --help             shows this

        The payload goes through the chain that the file asks for, as the first one of a new receiver; no
        program is run and no handler is called. Shown are its kind and what speaks for it, each rule in
        order with what it asks for and what the payload has, the verdict of each stage, and the outcome.
        Exit codes: 0 explained; 1 the rules or the payload cannot be read; 64 wrong usage.
        """
}
