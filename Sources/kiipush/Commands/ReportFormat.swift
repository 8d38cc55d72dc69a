/// The output format of a command.
enum ReportFormat {
    case text
    case json

    static let choices: [(name: String, choice: ReportFormat)] = [("text", .text), ("json", .json)]
}
