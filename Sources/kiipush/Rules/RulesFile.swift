import KiiPush
import KiiPushLinux

/// How a command was asked to print.
enum ReportFormat {
    case text
    case json

    static let choices: [(name: String, choice: ReportFormat)] = [("text", .text), ("json", .json)]
}

/// Reads rules files for commands, and says what is wrong with them.
enum RulesFile {
    /// The rules, or nil when they could not be read, which has been reported, each problem on a line.
    static func load(_ path: String, _ console: Console) -> RoutingRules? {
        do {
            let rules: RoutingRules
            if path == "-" {
                let bytes = try ByteReader.standardInput().readAll(limit: RoutingRules.mostBytes)
                rules = try RoutingRules(bytes, file: path)
            } else {
                rules = try RoutingRules(contentsOf: path)
            }
            return rules
        } catch let error as RulesError {
            for line in error.description.split(separator: "\n") { console.error(escaped(String(line))) }
        } catch {
            console.error("\(error)")
        }
        return nil
    }
}
