import KiiPush
import KiiPushRules
import KiiPushAgent
import KiiPushSystem

/// Reads rules files for commands, and reports their problems.
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
            return try isWatched ? readWatched(path, params) : read(path, params)
        } catch {
            report(error, console)
            if format == .json { console.print(RulesTestJSON.line(file: path, problems(of: error, in: path))) }
            return nil
        }
    }

    static func read(_ path: String, _ params: ParameterOptions) throws -> RoutingRules {
        let values = try params.values()
        guard path == "-" else { return try RoutingRules(contentsOf: path, params: values) }
        return try RoutingRules(
            ByteReader.standardInput().readAll(limit: RoutingRules.mostBytes), file: path, params: values)
    }

    /// Reads rules that will be checked again, and never waits for another program.
    private static func readWatched(_ path: String, _ params: ParameterOptions) throws -> RoutingRules {
        let values = try params.values()
        let bytes = try ByteReader(regularFile: path).readAll(limit: RoutingRules.mostBytes)
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
        let what: String
        switch error {
        case let error as RulesError: return error.problems
        case ReadError.unreadable(_, let number): what = "cannot be read: \(number)"
        case ReadError.notAFile: what = "cannot be read: not a regular file"
        case ReadError.tooLarge(_, let limit): what = "larger than \(limit) bytes"
        default: what = "\(error)"
        }
        return [RulesError.Problem(file: path, position: SourcePosition(line: 1, column: 1), what: what)]
    }
}
