import Glibc

@testable import KiiPushAgent

/// `kiipush receive` as a process of its own, which a test talks to and stops.
final class RunningAgent {
    let process: pid_t
    private let printed: TemporaryFile
    private let reported: TemporaryFile
    private var isReaped = false

    /// Starts the agent, with further variables of its environment, and waits until it is ready, or as far as it is to
    /// come.
    init(
        _ arguments: [String], input: String = "/dev/null", variables: [String] = [],
        until isThere: (RunningAgent) -> Bool = { $0.log.contains("ready") }
    ) throws {
        printed = try TemporaryFile("", name: "output")
        reported = try TemporaryFile("", name: "errors")
        process = try ChildRun.start(
            ["receive"] + arguments, input: input, output: printed.path, errors: reported.path, variables: variables)
        try wait(isThere)
    }

    /// Starts another command that goes on until it is ended; its output goes into a file of its own, or where it is
    /// told.
    init(command arguments: [String], output: String? = nil) throws {
        printed = try TemporaryFile("", name: "output")
        reported = try TemporaryFile("", name: "errors")
        process = try ChildRun.start(
            arguments, input: "/dev/null", output: output ?? printed.path, errors: reported.path)
    }

    deinit { if !isReaped { _ = try? stop(SIGKILL) } }

    var output: String { (try? printed.contents()) ?? "" }
    var log: String { (try? reported.contents()) ?? "" }

    /// Looks again and again until a condition holds; fails after a minute.
    func wait(_ condition: (RunningAgent) -> Bool) throws {
        let end = ContinuousClock.now + .seconds(60)
        while !condition(self) {
            guard ContinuousClock.now < end else { throw ChildRun.Failure(what: "waited in vain: \(log)", code: 0) }
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
        guard unsafe waitpid(process, &status, 0) == process else {
            throw ChildRun.Failure(what: "waitpid", code: errno)
        }
        isReaped = true
        return status & 0x7F == 0 ? status >> 8 & 0xFF : 256 + status & 0x7F
    }
}
