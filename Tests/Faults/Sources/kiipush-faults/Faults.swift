import Glibc

/// Starts a broker and an agent, makes faults, and says whether anything was lost.
@main
struct Faults {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            if arguments.first == "agent" { return try await FaultyAgent(Array(arguments.dropFirst())).run() }
            var options = try Options(arguments)
            try options.run()
        } catch {
            complain("\(error)")
            exit(1)
        }
    }
}
