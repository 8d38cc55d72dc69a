import Glibc

/// Times each stage of the way from bytes to handler, and counts its heap allocations.
@main
struct Bench {
    static func main() async {
        let options: Options
        do {
            options = try Options(CommandLine.arguments.dropFirst())
        } catch {
            exit(error)
        }
        do {
            if let count = options.count {
                let allocations = try await handle(count.messages, count.part)
                print(#"{"part":"\#(count.part)","messages":\#(count.messages),"allocations":\#(allocations)}"#)
                Glibc.exit(0)
            }
            if options.isHostile {
                let report = try measureHostile(options)
                print(options.format == .json ? report.json : report.text)
                Glibc.exit(report.tooSlow.isEmpty ? 0 : 1)
            }
            var report = Report()
            if options.takes(.decode) { report.rows += try decodeStages(options) }
            if options.takes(.chain) { report.rows += try chainStages(options) }
            if options.takes(.route) { report.rows += try routeStages(options) }
            if options.takes(.whole) { report.rows += try await wholeStages(options) }
            if options.takes(.cores) { report.rows += try await coreStages(options) }
            if options.takes(.tail) { report.tails = [await measureTail(options)] }
            if options.takes(.store) { report.seenKeys = try [1, 1000, 20_000, 1_000_000].map(measureSeenKeys) }
            if options.takes(.rules) { report.rules = try measureRules() }
            print(options.format == .json ? report.json : report.text)
        } catch {
            complain("\(error)")
            Glibc.exit(70)
        }
    }

    private static func exit(_ reason: Options.Stop) -> Never {
        switch reason {
        case .help:
            print(Options.usage)
            Glibc.exit(0)
        case .wrong(let what):
            complain("\(what)\n\(Options.usage)")
            Glibc.exit(64)
        }
    }
}

/// Writes to standard error by its number: glibc's `stderr` is a variable, which Swift 6 takes for unsafe.
private func complain(_ text: String) {
    let line = Array("kiipush-bench: \(text)\n".utf8)
    _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

/// What the command line asks for.
struct Options {
    enum Format: String {
        case text
        case json
    }

    /// What can be measured alone, as for a profiler.
    enum Part: String, CaseIterable {
        case decode
        case chain
        case route
        case whole
        case cores
        case tail
        case store
        case rules
    }

    enum Stop: Error {
        case help
        case wrong(String)
    }

    static let usage = """
        usage: kiipush-bench [--format text|json] [--rounds N] [--only \(parts) | --hostile]
               kiipush-bench --count \(countedParts) MESSAGES

        Prints, for each stage and for the whole, the nanoseconds and the heap allocations of one message: the best and
        the median of N rounds (101 unless told). Build it with -c release.

          --hostile   instead, what a byte of payloads costs that are made to be slow, beside one of an ordinary
                      payload; the exit code is 1 when it is more than twenty times as much
          --count     instead, takes so many messages through a part, once, and prints how often that asked for memory;
                      gate.sh counts the instructions of such a run
        """

    private static let parts = Part.allCases.map(\.rawValue).joined(separator: "|")
    private static let countedParts = CountedPart.allCases.map(\.rawValue).joined(separator: "|")

    private(set) var format = Format.text
    private(set) var rounds = 101
    private(set) var isHostile = false
    private(set) var count: (part: CountedPart, messages: Int)?
    private var only: Part?

    func takes(_ part: Part) -> Bool { only ?? part == part }

    init(_ arguments: some Sequence<String>) throws(Stop) {
        var arguments = arguments.makeIterator()
        while let argument = arguments.next() {
            switch argument {
            case "--help", "-h": throw .help
            case "--format":
                guard let format = arguments.next().flatMap(Format.init) else {
                    throw .wrong("--format takes text or json")
                }
                self.format = format
            case "--rounds":
                guard let rounds = arguments.next().flatMap({ Int($0) }), rounds > 0 else {
                    throw .wrong("--rounds takes a number above 0")
                }
                self.rounds = rounds
            case "--hostile": isHostile = true
            case "--count":
                guard let part = arguments.next().flatMap(CountedPart.init),
                    let messages = arguments.next().flatMap({ Int($0) }), CountedPart.messages ~= messages
                else {
                    let most = CountedPart.messages.upperBound
                    throw .wrong("--count takes \(Self.countedParts), and 1 to \(most)")
                }
                count = (part, messages)
            case "--only":
                guard let part = arguments.next().flatMap(Part.init) else { throw .wrong("--only takes \(Self.parts)") }
                only = part
            default: throw .wrong("unknown argument \(argument)")
            }
        }
    }
}

/// A stage gave another result than it should, so its time would mean nothing.
struct WrongResult: Error, CustomStringConvertible {
    let description: String
}

/// Stops the run when a stage does not do what is to be measured.
func check(_ holds: Bool, _ what: String) throws {
    guard holds else { throw WrongResult(description: "\(what): this is not what is to be measured") }
}
