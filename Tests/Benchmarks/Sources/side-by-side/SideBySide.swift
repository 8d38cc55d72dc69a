import Foundation

/// Runs KiiPush and its peers in turn on the same bytes, and writes what came of it.
@main
struct SideBySide {
    static func main() {
        do {
            try run(Options(Array(CommandLine.arguments.dropFirst())))
        } catch {
            FileHandle.standardError.write(Data("side-by-side: \(error)\n".utf8))
            exit(error is Options.Wrong ? 64 : 1)
        }
    }

    private static func run(_ options: Options) throws {
        let results = if let stored = options.stored { try Results(file: stored) } else { try measure(options) }
        switch options.format {
        case .text: print(TextReport(results).text)
        case .json: print(try results.json)
        case .markdown: print(MarkdownReport(results).text)
        }
        if let guide = options.guide { try MarkdownReport(results).write(to: guide) }
        if let plot = options.plot { try Plot(results).svg.write(toFile: plot, atomically: true, encoding: .utf8) }
    }

    private static func measure(_ options: Options) throws -> Results {
        let workbench = try Workbench(options)
        var rounds = try Rounds(workbench, options)
        progress("checking that every program understands what KiiPush does")
        try Check(workbench).run(rounds.cells)
        progress("finding out how long each takes")
        try rounds.calibrate()
        for round in 1...options.rounds {
            progress("round \(round) of \(options.rounds)")
            try rounds.run()
        }
        return rounds.results
    }
}

/// Says on standard error how far it is.
func progress(_ text: String) { FileHandle.standardError.write(Data("\(text)\n".utf8)) }

/// What the command line asks for.
struct Options {
    enum Format: String {
        case text
        case json
        case markdown
    }

    struct Wrong: Error, CustomStringConvertible {
        let description: String
    }

    static let usage = """
        usage: side-by-side FOLDER [--rounds N] [--quick] [--core N] [--format text|json|markdown]
                            [--from FILE] [--guide FILE] [--plot FILE]
        """

    /// Where run.sh has put the programs.
    private(set) var folder = ""
    private(set) var rounds = 7
    private(set) var milliseconds = 150.0
    /// The core to which this program is bound, with what it starts.
    private(set) var core: Int?
    private(set) var format = Format.text
    /// The results of an earlier run, to be shown instead of a new one.
    private(set) var stored: String?
    private(set) var guide: String?
    private(set) var plot: String?

    init(_ arguments: [String]) throws(Wrong) {
        var arguments = arguments.makeIterator()
        while let argument = arguments.next() {
            switch argument {
            case "--rounds": rounds = try Self.number(arguments.next(), argument, atLeast: 7)
            case "--quick": (rounds, milliseconds) = (3, 15)
            case "--core": core = try Self.number(arguments.next(), argument, atLeast: 0)
            case "--format":
                guard let format = arguments.next().flatMap(Format.init) else {
                    throw Wrong(description: "--format takes text, json or markdown\n\(Self.usage)")
                }
                self.format = format
            case "--from": stored = try Self.text(arguments.next(), argument)
            case "--guide": guide = try Self.text(arguments.next(), argument)
            case "--plot": plot = try Self.text(arguments.next(), argument)
            default:
                guard folder.isEmpty, !argument.hasPrefix("-") else {
                    throw Wrong(description: "unknown argument \(argument)\n\(Self.usage)")
                }
                folder = argument
            }
        }
        guard !folder.isEmpty else { throw Wrong(description: Self.usage) }
    }

    private static func number(_ text: String?, _ option: String, atLeast least: Int) throws(Wrong) -> Int {
        guard let number = text.flatMap({ Int($0) }), number >= least else {
            throw Wrong(description: "\(option) takes a number from \(least)\n\(usage)")
        }
        return number
    }

    private static func text(_ text: String?, _ option: String) throws(Wrong) -> String {
        guard let text else { throw Wrong(description: "\(option) takes a file\n\(usage)") }
        return text
    }
}
