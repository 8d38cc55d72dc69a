import Glibc
import Synchronization
import Testing

@testable import kiipush
@testable import KiiPushAgent
@testable import KiiPushTestSupport

/// What one command line printed, and the code it ended with.
struct ToolRun {
    let code: ExitCode
    let output: [String]
    let errors: [String]

    /// Runs the tool in this process; only standard input needs a process of its own.
    init(_ arguments: String...) async { await self.init(arguments) }

    init(_ arguments: [String]) async { await self.init { await Tool.run(arguments, $0) } }

    /// Runs it on a file that has a text; in what it prints, the file's path is `FILE`.
    init(_ arguments: String..., file text: String) async throws {
        let file = try TemporaryFile(text)
        let run = await ToolRun(arguments + [file.path])
        code = run.code
        output = run.output.map { $0.replacing(file.path, with: "FILE") }
        errors = run.errors.map { $0.replacing(file.path, with: "FILE") }
    }

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
        try await inspect(text, options)
    }

    static func inspect(_ text: String, _ options: [String]) async throws -> String {
        let file = try TemporaryFile(text)
        let run = await ToolRun(["inspect", "--format", "json"] + options + [file.path])
        #expect(run.code == .fine && run.errors.isEmpty, "\(run.errors)")
        return try #require(run.output.first)
    }
}

/// A run of the tool as a process of its own, for what only a process shows: its memory and its standard input.
struct ChildRun {
    let code: Int32
    let peakMemory: Int
    let output: String
    let errors: String

    /// Runs the tool that was built beside the tests, with `input` as its standard input, and waits for its end.
    init(_ arguments: [String], input: String = "/dev/null") throws {
        let (printed, reported) = (try TemporaryFile("", name: "output"), try TemporaryFile("", name: "errors"))
        let process = try spawn(
            [try toolPath()] + arguments, input: input, output: printed.path, errors: reported.path)
        var status: Int32 = 0
        var usage = rusage()
        guard unsafe wait4(process, &status, 0, &usage) == process else {
            throw TestFailure(what: "wait4", code: errno)
        }
        code = exitCode(of: status)
        peakMemory = usage.ru_maxrss * 1024
        (output, errors) = (try printed.contents(), try reported.contents())
    }
}

/// A file that a test writes, in a folder of its own; gone when the test lets go of it.
final class TemporaryFile {
    let path: String
    private let folder: Folder
    private let name: String
    var directory: String { folder.path }

    convenience init(_ text: String, name: String = "payload.json", mode: mode_t = 0o600) throws {
        try self.init(Array(text.utf8), name: name, mode: mode)
    }

    /// Beyond the bytes, up to `size`, the file has a hole.
    init(_ bytes: [UInt8], name: String = "payload.json", mode: mode_t = 0o600, size: Int = 0) throws {
        (folder, self.name) = (try Folder(), name)
        path = try folder.write(bytes, to: name, mode: mode, size: size)
    }

    func contents() throws -> String { try folder.read(name) }
}

/// `kiipush receive` as a process of its own, which a test talks to and stops.
final class RunningAgent {
    let process: pid_t
    private let printed: TemporaryFile
    private let reported: TemporaryFile
    private var isReaped = false

    /// Starts the agent, with further variables of its environment, and waits until it is ready, or as far as it is to
    /// come.
    convenience init(
        _ arguments: [String], input: String = "/dev/null", variables: [String] = [],
        until isThere: (RunningAgent) -> Bool = { $0.log.contains("ready") }
    ) throws {
        try self.init(command: ["receive"] + arguments, input: input, variables: variables)
        try wait(isThere)
    }

    /// Starts another command that goes on until it is ended; its output goes into a file of its own, or where it is
    /// told.
    init(
        command arguments: [String], input: String = "/dev/null", output: String? = nil, variables: [String] = []
    ) throws {
        printed = try TemporaryFile("", name: "output")
        reported = try TemporaryFile("", name: "errors")
        process = try spawn(
            [try toolPath()] + arguments, input: input, output: output ?? printed.path, errors: reported.path,
            variables: variables)
    }
    deinit { if !isReaped { _ = try? stop(SIGKILL) } }

    var output: String { (try? printed.contents()) ?? "" }
    var log: String { (try? reported.contents()) ?? "" }

    /// Looks again and again until a condition holds; fails after a minute.
    func wait(_ condition: (RunningAgent) -> Bool) throws {
        let end = ContinuousClock.now + .seconds(60)
        while !condition(self) {
            guard ContinuousClock.now < end else { throw TestFailure(what: "waited in vain: \(log)", code: 0) }
            _ = poll(nil, 0, 10)
        }
    }

    /// Sends a signal and waits for the end; the exit code, or 256 and the signal that ended it.
    func stop(_ signal: Int32 = SIGTERM) throws -> Int32 {
        kill(process, signal)
        return try end()
    }

    /// Waits for the end; the exit code, or 256 and the signal that ended it.
    func end() throws -> Int32 {
        var status: Int32 = 0
        #expect(unsafe waitpid(process, &status, 0) == process)
        isReaped = true
        return exitCode(of: status)
    }
}
