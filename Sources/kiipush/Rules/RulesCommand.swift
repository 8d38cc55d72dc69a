import KiiPush
import KiiPushAgent
import KiiPushRules

enum RulesCommand {
    static let command = Command(
        name: "rules", summary: "tests, lints, explains, compares and draws rules files",
        usage: ["COMMAND [OPTION…]"], about: ["Rules are routes written as data."],
        exits: [(.fine, "fine"), (.failed, "no, or something failed"), (.unanswered, "there is no answer")],
        commands: [
            RulesTestCommand.command, RulesLintCommand.command, RulesExplainCommand.command, RulesDiffCommand.command,
            RulesGraphCommand.command, RulesSchemaCommand.command,
        ])
}

struct RulesSchemaCommand: CommandWithOptions {
    static let description = Command(
        name: "rules schema", summary: "prints the JSON Schema of rules files, for editors",
        exits: [(.fine, "printed")])

    func run(_ console: Console) async -> ExitCode {
        var schema = RoutingRules.schema
        while schema.utf8.last == UInt8(ascii: "\n") { schema.removeLast() }
        console.print(schema)
        return .fine
    }
}
