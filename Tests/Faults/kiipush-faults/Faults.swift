import Glibc

/// Starts a broker and an agent, makes faults, and says whether anything was lost.
@main
struct Faults {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            if arguments.first == "agent" { return try await FaultyAgent(Array(arguments.dropFirst())).run() }
            if arguments.first == "embedded" {
                return try await FaultyAgent(Array(arguments.dropFirst())).runEmbedded()
            }
            if arguments.first == "careless" { return try CarelessWrite.run(Array(arguments.dropFirst())) }
            guard let options = try Options(arguments) else { return print(Options.usage) }
            let broken = try await options.run()
            for what in broken { complain(what) }
            if !broken.isEmpty { exit(1) }
        } catch {
            complain("\(error)")
            exit(1)
        }
    }
}
