/// `kiipush rules`: what can be done with a rules file.
enum RulesCommand {
    static func run(_ arguments: [String], _ console: Console) async -> ExitCode {
        let rest = Array(arguments.dropFirst())
        switch arguments.first {
        case "test": return await RulesTestCommand.run(rest, console)
        case "help", "--help", "-h":
            console.print(help)
            return .fine
        case let command?:
            console.error("kiipush rules: there is no command '\(escaped(command))'; try 'kiipush rules --help'")
            return .usage
        case nil:
            console.error(help)
            return .usage
        }
    }

    static let help = """
        kiipush rules: tests rules files, and looks at them

        usage: kiipush rules COMMAND [OPTION…] FILE…

          test      runs the tests that are in the files

        'kiipush rules COMMAND --help' tells more about a command.
        """
}
