import KiiPush

/// `kiipush rules schema`: prints the format of rules files as a JSON Schema.
enum RulesSchemaCommand {
    static let help = """
        kiipush rules schema: prints the JSON Schema of rules files, draft 2020-12, for editors

        usage: kiipush rules schema
        """

    static func run(_ arguments: [String], _ console: Console) -> ExitCode {
        if arguments == ["--help"] || arguments == ["-h"] {
            console.print(help)
            return .fine
        }
        guard arguments.isEmpty else {
            console.error("kiipush rules schema: it takes no arguments; try 'kiipush rules schema --help'")
            return .usage
        }
        var schema = RoutingRules.schema
        while schema.utf8.last == UInt8(ascii: "\n") { schema.removeLast() }
        console.print(schema)
        return .fine
    }
}
