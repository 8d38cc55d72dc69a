import CLibrary
import KiiPush
import KiiPushRules
import KiiPushAgent
import KiiPushSystem

/// `kiipush inspect`: shows what each payload is and why.
struct InspectCommand {
    private let options: InspectOptions
    private let console: Console
    private var code = ExitCode.fine

    static func run(_ arguments: [String], _ console: Console) -> ExitCode {
        let reading = Self.command.read(arguments, by: InspectOptions.table, into: InspectOptions(), console) {
            options, operands throws(Arguments.Mistake) in options.files = operands
        }
        guard case .options(let options) = reading else { return reading.code }
        var command = InspectCommand(options: options, console: console)
        if options.files.isEmpty, isatty(STDIN_FILENO) == 1 {
            console.error("kiipush inspect: reading a payload from the terminal; end it with Ctrl-D")
        }
        for file in options.files.isEmpty ? ["-"] : options.files { command.inspect(file: file) }
        return command.code
    }

    private init(options: InspectOptions, console: Console) {
        self.options = options
        self.console = console
    }

    /// The most bytes of a file or a line: a line of a capture is longer than its payload.
    private static let mostBytes = PastedPayload.mostBytes

    private static let tooLarge = PastedPayload.limits.tooLarge

    private mutating func inspect(file: String) {
        do throws(ReadError) {
            let reader = file == "-" ? .standardInput() : try ByteReader(path: file)
            if options.byLines {
                try inspectLines(reader, file)
            } else {
                try inspectWhole(reader, file)
            }
        } catch {
            // A payload in the place of a file name is not repeated in the error: its contents are private.
            let isPayload = file.utf8.contains(UInt8(ascii: "{"))
            console.error(isPayload ? "kiipush inspect: a payload itself goes to standard input" : "\(error)")
            raise(.failed)
        }
    }

    private mutating func inspectWhole(_ reader: consuming ByteReader, _ file: String) throws(ReadError) {
        do throws(ReadError) {
            inspect(try reader.readAll(limit: Self.mostBytes), source: file, line: nil)
        } catch .tooLarge {
            report(
                Self.tooLarge, source: file, at: (1, PastedPayload.limits.bytes + 1),
                hint: "; if each line is a payload, use --lines")
        }
    }

    private mutating func inspectLines(_ reader: consuming ByteReader, _ file: String) throws(ReadError) {
        var lines = LineReader(reader, limit: Self.mostBytes)
        while let line = try lines.next() {
            switch line {
            case .bytes(let bytes, let number):
                if bytes.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) { continue }
                inspect(bytes, source: "\(file):\(number)", line: number)
            case .tooLong(let number):
                report(Self.tooLarge, source: "\(file):\(number)", at: (number, PastedPayload.limits.bytes + 1))
            }
        }
    }

    /// Inspects one payload; `line` is its number, if payloads are read by lines.
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
