import KiiPush
import KiiPushRules
import KiiPushAgent
import KiiPushSystem

enum RulesFile {
    /// The rules, or nil if they could not be read, which has been reported: each problem on a line of standard error,
    /// and for `json` all of them as one object on standard output too.
    ///
    /// Rules that are watched must be in a regular file.
    static func load(
        _ path: String, _ params: ParameterOptions, _ console: Console, _ format: ReportFormat = .text,
        isWatched: Bool = false
    ) -> RoutingRules? {
        do {
            return try read(path, params, isWatched: isWatched)
        } catch {
            report(error, console)
            if format == .json { console.print(RulesTestJSON.line(file: path, problems(of: error, in: path))) }
            return nil
        }
    }

    /// Reads rules; those that are watched will be read again, so nothing waits for another program.
    static func read(_ path: String, _ params: ParameterOptions, isWatched: Bool = false) throws -> RoutingRules {
        let values = try params.values()
        let file = try isWatched ? ByteReader(regularFile: path) : .named(path)
        let bytes = try file.readAll(limit: RoutingRules.mostBytes)
        return try RoutingRules(bytes, file: escaped(path), params: values)
    }

    /// Reports why rules could not be read, a problem a line.
    static func report(_ error: any Error, _ console: Console) {
        guard let error = error as? RulesError else { return console.error(console.errorInk.located("\(error)")) }
        for line in error.description.split(separator: "\n") {
            console.error(console.errorInk.located(escaped(String(line))))
        }
    }

    /// The problems of rules that could not be read; their texts do not repeat the file's name.
    static func problems(of error: any Error, in path: String) -> [RulesError.Problem] {
        if let error = error as? RulesError { return error.problems }
        let what = (error as? ReadError)?.what ?? "\(error)"
        return [RulesError.Problem(file: path, position: SourcePosition(line: 1, column: 1), what: what)]
    }
}

/// Reads a captured corpus for a command, a line at a time, and reports invalid lines.
struct CorpusFile {
    /// The most lines whose errors are reported.
    ///
    /// With this many before the first valid one, the file is not a corpus.
    private static let mostBadLines = 20

    static let mostBytesOfLine = PastedPayload.mostBytes

    /// The file, or `-` for standard input.
    let path: String
    let console: Console

    /// Reads the lines of the file, until `takes` wants no more; returns whether every line could be read.
    ///
    /// `takes` gets each line that is not empty, with its number, and throws its error.
    func eachLine(
        _ takes: (_ bytes: [UInt8], _ number: Int) async throws -> Bool
    ) async throws(ReadError) -> Bool {
        var lines = LineReader(try .named(path), limit: Self.mostBytesOfLine)
        var (badLines, goodLines, objects) = (0, 0, 0)
        var errors: [any Error] = []
        reading: while let line = try lines.next() {
            do {
                switch line {
                case .tooLong(let number):
                    objects += 1
                    let what = "the line has more than \(Self.mostBytesOfLine) bytes"
                    throw CaptureError(description: "\(escaped(path)):\(number):1: \(what)")
                case .bytes(let bytes, let number):
                    if bytes.first == UInt8(ascii: "{") { objects += 1 }
                    guard try await takes(bytes, number) else { break reading }
                    goodLines += 1
                }
            } catch {
                badLines += 1
                if badLines <= Self.mostBadLines { errors.append(error) }
                if badLines == Self.mostBadLines, goodLines == 0 { break }
            }
        }
        if objects == 0, badLines > 0 {
            console.error(
                "\(escaped(path)):1:1: this is no capture, since no line is a JSON object; 'kiipush receive --capture' "
                    + "writes one, and 'kiipush tap --format json' prints one")
            return false
        }
        for error in errors { RulesFile.report(error, console) }
        let untold = badLines - Self.mostBadLines
        if untold == 0, goodLines == 0 {
            console.error(
                "\(escaped(path)):1:1: stopped after \(badLines) lines that are not steps; a corpus is JSONL: one step "
                    + "per line")
        } else if untold > 0 {
            let what = untold == 1 ? "1 more line that is no step" : "\(untold) more lines that are no steps"
            console.error("\(escaped(path)):1:1: and \(what)")
        }
        return badLines == 0
    }
}

/// A line of a capture, or a capture, that cannot be read.
struct CaptureError: Error, CustomStringConvertible {
    let description: String
}

/// The options `--params` and `--param`: a device's values for the parameters of its rules.
struct ParameterOptions {
    fileprivate(set) var file: String?
    fileprivate var texts: [(name: String, text: String)] = []

    /// The values; those of `--param` win.
    ///
    /// - Throws: `ReadError` if the file cannot be read; `RulesError` with every problem of it.
    func values() throws -> ParameterValues {
        var values = try file.map { try ParameterValues(contentsOf: $0) } ?? ParameterValues()
        for (name, text) in texts { values.set(name, to: text, place: "--param \(escaped(name))") }
        return values
    }

    /// Why others can read the file, if some of the parameters are secret; nil if they cannot, or none is.
    func exposure(of rules: RoutingRules) -> SecretFileError? {
        rules.params.contains(where: \.isSecret) ? file.flatMap { SecretFile.exposure(of: $0) } : nil
    }

    var isEmpty: Bool { file == nil && texts.isEmpty }

    /// Refuses values where no rules are given that could use them.
    func check(rules: String?) throws(Arguments.Mistake) {
        guard rules != nil || isEmpty else { throw Arguments.Mistake(text: "--params and --param need --rules") }
    }
}

protocol ReadsRules: SendableMetatype {
    var params: ParameterOptions { get set }
}

extension CommandOption where Target: ReadsRules {
    static var params: Self {
        .value(
            "--params", "FILE",
            #"the values of the rules' parameters, such as {"thing": "th.7"}; readable by its owner only if some are secret"#,
            completes: .file
        ) { $0.params.file = $1 }
    }

    static var param: Self {
        .value(
            "--param", "NAME=VALUE", "a value of a parameter, instead of that of --params. May be repeated",
            as: { option, text throws(Arguments.Mistake) in
                guard let sign = text.firstIndex(of: "="), sign != text.startIndex else {
                    throw Arguments.Mistake(text: "\(option) takes a name and a value, such as thing=th.7")
                }
                return (name: String(text[..<sign]), text: String(text[text.index(after: sign)...]))
            }
        ) { target, value in target.params.texts.append(value) }
    }
}
