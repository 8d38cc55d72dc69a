import Synchronization
import Testing

@testable import kiipush
@testable import KiiPushAgent

/// What one command line printed, and the code it ended with.
struct ToolRun {
    let code: ExitCode
    let output: [String]
    let errors: [String]

    /// Runs the tool in this process; only standard input needs a process of its own.
    init(_ arguments: String...) async { await self.init(arguments) }

    init(_ arguments: [String]) async { await self.init { await Tool.run(arguments, $0) } }

    /// Runs a part of the tool.
    init(_ command: (Console) async -> ExitCode) async {
        let lines = Mutex<(output: [String], errors: [String])>(([], []))
        let console = Console(
            print: { line in lines.withLock { $0.output.append(line) } },
            error: { line in lines.withLock { $0.errors.append(line) } })
        code = await command(console)
        (output, errors) = lines.withLock { ($0.output, $0.errors) }
    }

    /// How a wrong command line is told: what is wrong, and where to look; behind a question in a sentence of its own,
    /// and not behind the commands that there are.
    static func mistake(_ command: String, _ what: String) -> String {
        let name = command.isEmpty ? "kiipush" : "kiipush \(command)"
        if what.hasPrefix("unknown command") { return "\(name): \(what)" }
        return "\(name): \(what)\(what.hasSuffix("?") ? " Try" : "; try") '\(name) --help'"
    }

    /// The line that `inspect --format json` prints of a payload that it must read without an error.
    static func inspect(_ text: String, _ options: String...) async throws -> String {
        let file = try TemporaryFile(text)
        let run = await ToolRun(["inspect", "--format", "json"] + options + [file.path])
        #expect(run.errors.isEmpty, "\(file.path)")
        return try #require(run.output.first)
    }
}
