import CLibrary
import KiiPush
import KiiPushAgent
import KiiPushRules
import KiiPushSystem

struct InspectCommand: CommandWithOptions {
    var transport: Transport?
    var app: String?
    var byLines = false
    var isStrict = false
    var format = ReportFormat.text
    var files: [String] = []

    static let table = OptionTable<InspectCommand>([
        .choice(
            "--transport", "NAME",
            "the network that delivered the payload: apns, fcm, jpush, mqtt or quickblox; detected from the payload if "
                + "not given", of: [Transport.apns, .fcm, .jpush, .mqtt, .quickblox].map { ($0.name, $0) }
        ) { $0.transport = $1 },
        .value("--app", "ID", "the expected app; a payload of another app gets the conflict appID") { $0.app = $1 },
        .flag("--lines", "reads one payload per line; skips empty lines") { $0.byLines = true },
        .flag("--strict", "exits with 2 if a payload is ambiguous") { $0.isStrict = true },
        .format("text for people (the default), or json: one object a line") { $0.format = $1 },
    ])

    mutating func check(_ operands: [String]) throws(Arguments.Mistake) {
        try Arguments.checkStandardInput(operands)
        files = operands
    }

    func run(_ console: Console) async -> ExitCode {
        var inspection = Inspection(options: self, console: console)
        if files.isEmpty, isatty(STDIN_FILENO) == 1 {
            console.error("kiipush inspect: reading a payload from the terminal; end it with Ctrl-D")
        }
        for file in files.isEmpty ? ["-"] : files { inspection.inspect(file: file) }
        return inspection.code
    }

    static let description = Command(
        name: "inspect", summary: "shows a payload's kind, the evidence for it, and its fields",
        usage: ["[OPTION…] [FILE…]"],
        about: [
            "Reads one payload per file, or standard input if no file (or -) is given: JSON; a line of 'kiipush receive "
                + "--capture' or of 'kiipush tap --format json'; or what a log prints of a payload, such as "
                + "Apple's and Swift's descriptions of a dictionary, its bytes in hexadecimal or Base64, or a "
                + "map of Java."
        ],
        operands: .file,
        notes: [
            "Unreadable payloads are reported on standard error as FILE:LINE:COLUMN: CODE: MESSAGE, and do not "
                + "stop the run."
        ],
        exits: [
            (.fine, "every payload is readable"), (.failed, "a payload is unreadable"),
            (.ambiguous, "a payload is ambiguous, under --strict"),
        ],
        examples: [#"echo '{"bucketID":"settings","objectScopeType":"APP"}' | kiipush inspect"#])
}

/// The inspection of a command's payloads, and its exit code so far.
private struct Inspection {
    let options: InspectCommand
    let console: Console
    private(set) var code = ExitCode.fine

    private let tooLarge = PastedPayload.limits.tooLarge

    init(options: InspectCommand, console: Console) { (self.options, self.console) = (options, console) }

    mutating func inspect(file: String) {
        do throws(ReadError) {
            let reader = try ByteReader.named(file)
            if options.byLines {
                try inspectLines(reader, file)
            } else {
                try inspectWhole(reader, file)
            }
        } catch {
            console.complain(error, of: file, contents: "kiipush inspect: a payload itself goes to standard input")
            raise(.failed)
        }
    }

    private mutating func inspectWhole(_ reader: consuming ByteReader, _ file: String) throws(ReadError) {
        do throws(ReadError) {
            inspect(try reader.readAll(limit: PastedPayload.mostBytes), source: file, line: nil)
        } catch .tooLarge {
            report(
                tooLarge, source: file, at: (1, PastedPayload.limits.bytes + 1),
                hint: "; if each line is a payload, use --lines")
        }
    }

    private mutating func inspectLines(_ reader: consuming ByteReader, _ file: String) throws(ReadError) {
        var lines = LineReader(reader, limit: PastedPayload.mostBytes)
        while let line = try lines.next() {
            switch line {
            case .bytes(let bytes, let number):
                inspect(bytes, source: "\(file):\(number)", line: number)
            case .tooLong(let number):
                report(tooLarge, source: "\(file):\(number)", at: (number, PastedPayload.limits.bytes + 1))
            }
        }
    }

    private mutating func inspect(_ bytes: [UInt8], source: String, line: Int?) {
        do throws(DecodeError) {
            let message = try PastedPayload(bytes, transport: options.transport, app: options.app).message
            switch options.format {
            case .json: console.print(JSONReport.line(message, source: source, app: options.app))
            case .text:
                for line in TextReport.lines(message, source: source, app: options.app, ink: console.ink) {
                    console.print(line)
                }
            }
            if options.isStrict, message.certainty == .ambiguous { report(message, source: source, line: line) }
        } catch {
            let place = SourcePosition(error.offset, in: bytes)
            report(
                error, source: source, at: line.map { ($0, error.offset + 1) } ?? (place.line, place.column),
                hint: line != nil && bytes.isOpeningOfJSON
                    ? "; if a payload takes several lines, leave out --lines" : PastedPayload.hint(bytes, error))
        }
    }

    private mutating func report(
        _ error: DecodeError, source: String, at place: (line: Int, column: Int), hint: String = ""
    ) {
        if options.format == .json { console.print(JSONReport.line(error, source: source)) }
        complain(source, place, "\(console.errorInk(error.code.rawValue, .bad)): \(error.detail)\(hint)")
        raise(.failed)
    }

    private mutating func report(_ message: PushMessage, source: String, line: Int?) {
        for conflict in message.classification.conflicts {
            let word = console.errorInk("ambiguous", .warning)
            complain(source, (line ?? 1, 1), "\(word): \(conflict.name): \(conflict.reason)")
        }
        raise(.ambiguous)
    }

    /// Reports an error; a source read by lines already contains the line number.
    private func complain(_ source: String, _ place: (line: Int, column: Int), _ what: String) {
        let position = options.byLines ? "\(source):\(place.column)" : "\(source):\(place.line):\(place.column)"
        console.error("\(escaped(position)): \(what)")
    }

    private mutating func raise(_ other: ExitCode) { code = max(code, other) }
}
