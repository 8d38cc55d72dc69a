/// `kiipush rules`: what can be asked of a rules file before it goes to a device.
enum RulesCommand {
    static func run(_ arguments: [String], _ console: Console) async -> ExitCode {
        let rest = Array(arguments.dropFirst())
        if arguments.first == "help", let command = rest.first, !command.hasPrefix("-") {
            return await run([command, "--help"], console)
        }
        switch arguments.first {
        case "test": return await RulesTestCommand.run(rest, console)
        case "lint": return RulesLintCommand.run(rest, console)
        case "explain": return await RulesExplainCommand.run(rest, console)
        case "diff": return await RulesDiffCommand.run(rest, console)
        case "graph": return RulesGraphCommand.run(rest, console)
        case "schema": return RulesSchemaCommand.run(rest, console)
        case "help", "--help", "-h":
            console.print(help)
            return .fine
        case let command?:
            let known = ["test", "lint", "explain", "diff", "graph", "schema", "help"]
            console.error("kiipush rules: " + Arguments.unknown(command: command, known: known))
            return .usage
        case nil:
            console.error(help)
            return .usage
        }
    }

    static let help = """
        kiipush rules: looks at routes that are written as data

        usage: kiipush rules COMMAND [OPTION…]

          test      runs the tests that are in the files, with coverage
          lint      finds rules that never take a message, loops, unknown handlers and tests that cannot pass
          explain   says of one payload which rule takes it, and why each other one does not
          diff      says which messages of a captured corpus another version of the rules treats otherwise
          graph     draws the rules, what they call and what they write
          schema    prints the JSON Schema of the format
          help      shows this, or with a command's name that command's help

        'kiipush rules COMMAND --help' tells more about a command.
        """
}
