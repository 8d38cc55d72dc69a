import KiiPush
import KiiPushRules
import KiiPushAgent

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
