import KiiPushAgent

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
