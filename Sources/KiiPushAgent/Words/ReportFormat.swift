/// The output format of a command.
package enum ReportFormat {
    case text
    case json

    package static let choices: [(name: String, choice: ReportFormat)] = [("text", .text), ("json", .json)]
}
