import Glibc

/// Times the way from bytes to handler, and counts its heap allocations.
@main
struct Bench {
    static func main() async {
        do {
            try await run(Options(CommandLine.arguments.dropFirst()))
        } catch let error as Options.Wrong {
            complain("\(error.what)\n\(Options.usage)")
            exit(64)
        } catch {
            complain("\(error)")
            exit(70)
        }
    }

    private static func run(_ options: Options) async throws {
        switch options.task {
        case .help: print(Options.usage)
        case .count(let part, let messages): print("allocations: \(try await handle(messages, part))")
        case .hostile:
            let report = try measureHostile(options)
            print(report.text)
            if !report.tooSlow.isEmpty { exit(1) }
        case .parts(let parts):
            var rows: [Row] = []
            if parts.contains(.decode) { rows += try decodeRows(options) }
            if parts.contains(.whole) { rows += try await wholeRows(options) }
            if !rows.isEmpty { print(table(rows)) }
            guard parts.contains(.store) else { return }
            for count in [1, 1000, 20_000, 1_000_000] { print(try measureSeenKeys(count)) }
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
    /// What can be measured alone, as for a profiler.
    enum Part: String, CaseIterable {
        case decode
        case whole
        case store
    }

    enum Task {
        case help
        case parts([Part])
        case hostile
        case count(CountedPart, messages: Int)
    }

    struct Wrong: Error {
        let what: String
    }

    static let usage = """
        usage: kiipush-bench [--rounds N] [--only \(names(Part.self)) | --hostile]
               kiipush-bench --count \(names(CountedPart.self)) MESSAGES

        Prints the nanoseconds and the heap allocations of one message: the best and the median of N rounds (101 unless
        told); and what remembering messages costs. Build it with -c release.

          --hostile   instead, what a byte of payloads costs that are made to be slow, beside one of an ordinary
                      payload; the exit code is 1 when it is more than twenty times as much
          --count     instead, takes so many messages through a part, once, and prints how often that asked for memory;
                      gate.sh counts the instructions of such a run
        """

    private static func names<Name: CaseIterable & RawRepresentable<String>>(_ type: Name.Type) -> String {
        type.allCases.map(\.rawValue).joined(separator: "|")
    }

    private(set) var task = Task.parts(Part.allCases)
    private(set) var rounds = 101

    init(_ arguments: some Sequence<String>) throws {
        var arguments = arguments.makeIterator()
        while let argument = arguments.next() {
            switch argument {
            case "--help", "-h": task = .help
            case "--hostile": task = .hostile
            case "--rounds":
                guard let rounds = arguments.next().flatMap({ Int($0) }), rounds > 0 else {
                    throw Wrong(what: "--rounds takes a number above 0")
                }
                self.rounds = rounds
            case "--count":
                guard let part = arguments.next().flatMap(CountedPart.init),
                    let messages = arguments.next().flatMap({ Int($0) }), CountedPart.messages ~= messages
                else {
                    let most = CountedPart.messages.upperBound
                    throw Wrong(what: "--count takes \(Self.names(CountedPart.self)), and 1 to \(most)")
                }
                task = .count(part, messages: messages)
            case "--only":
                guard let part = arguments.next().flatMap(Part.init) else {
                    throw Wrong(what: "--only takes \(Self.names(Part.self))")
                }
                task = .parts([part])
            default: throw Wrong(what: "unknown argument \(argument)")
            }
        }
    }
}

/// A part gave another result than it should, so its time would mean nothing.
struct WrongResult: Error, CustomStringConvertible {
    let description: String
}

/// Stops the run when a part does not do what is to be measured.
func check(_ holds: Bool, _ what: String) throws {
    guard holds else { throw WrongResult(description: "\(what): this is not what is to be measured") }
}
