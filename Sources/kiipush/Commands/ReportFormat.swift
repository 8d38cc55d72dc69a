/// How a command was asked to print.
enum ReportFormat {
    case text
    case json

    static let choices: [(name: String, choice: ReportFormat)] = [("text", .text), ("json", .json)]
}
