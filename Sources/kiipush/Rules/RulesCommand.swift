import KiiPush
import KiiPushAgent
import KiiPushRules

/// `kiipush rules`: checks a rules file before it goes to a device.
enum RulesCommand {
    static let command = Command(
        name: "rules", summary: "tests, lints, explains, compares and draws rules files",
        usage: ["COMMAND [OPTION…]"], about: [.text("Rules are routes written as data.")],
        exits: [(.fine, "fine"), (.failed, "no, or something failed"), (.unanswered, "there is no answer")],
        commands: [
            RulesTestCommand.command, RulesLintCommand.command, RulesExplainCommand.command, RulesDiffCommand.command,
            RulesGraphCommand.command, RulesSchemaCommand.command,
        ])
}

/// `kiipush rules schema`: prints the format of rules files as a JSON Schema.
enum RulesSchemaCommand {
    static let command = Command(
        name: "rules schema", summary: "prints the JSON Schema of rules files, for editors",
        options: OptionTable<Void>([]).texts, exits: [(.fine, "printed")],
        action: { arguments, console in run(arguments, console) })

    static func run(_ arguments: [String], _ console: Console) -> ExitCode {
        let reading = Self.command.readNothing(arguments, console)
        guard case .options = reading else { return reading.code }
        var schema = RoutingRules.schema
        while schema.utf8.last == UInt8(ascii: "\n") { schema.removeLast() }
        console.print(schema)
        return .fine
    }
}
