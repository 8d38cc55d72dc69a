import Glibc

/// A process that this program started, and alone ends.
final class Child {
    /// How a process ended.
    enum End: Equatable, CustomStringConvertible {
        case exited(Int32)
        case killed(Int32)

        var description: String {
            switch self {
            case .exited(let code): "exit code \(code)"
            case .killed(let signal): "signal \(signal)"
            }
        }
    }

    let id: pid_t
    /// How it ended; nil while it runs, as far as anybody has looked.
    private(set) var end: End?

    /// Starts a program, with nothing on its standard input.
    ///
    /// - Parameters:
    ///   - arguments: the program's path, and what it is told.
    ///   - output: the file that its standard output is added to.
    ///   - errors: the file that its standard error is added to.
    /// - Throws: why it did not start.
    init(_ arguments: [String], output: String = "/dev/null", errors: String) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        let flags = O_WRONLY | O_CREAT | O_APPEND
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, flags, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, errors, flags, 0o600)
        // The threads that tasks run on block signals, and a program inherits that.
        var attributes = posix_spawnattr_t()
        var (all, none) = (sigset_t(), sigset_t())
        sigfillset(&all)
        sigemptyset(&none)
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        var vector = arguments.map { strdup($0) } + [nil]
        defer { for text in vector { free(text) } }
        var id: pid_t = 0
        let error = posix_spawnp(&id, arguments[0], &actions, &attributes, &vector, environ)
        guard error == 0 else { throw Trouble("\(arguments[0]) does not start: \(text(of: error))") }
        self.id = id
    }

    deinit {
        guard isRunning else { return }
        send(SIGKILL)
        _ = try? wait()
    }

    /// Whether it runs; it is reaped when it does not.
    var isRunning: Bool {
        if end != nil { return false }
        var status: Int32 = 0
        guard waitpid(id, &status, WNOHANG) == id else { return true }
        end = Self.end(status)
        return false
    }

    /// Whether it has a handler for a signal.
    func catches(_ signal: Int32) -> Bool {
        let line = words(of: "/proc/\(id)/status").split(separator: "\n").first { $0.hasPrefix("SigCgt:") }
        let mask = line?.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) } ?? 0
        return mask >> (UInt64(signal) - 1) & 1 == 1
    }

    /// Sends a signal; not to one that has been reaped, whose number may be another's.
    func send(_ signal: Int32) {
        if isRunning { kill(id, signal) }
    }

    /// Waits for its end.
    ///
    /// - Throws: when it runs for longer than that.
    @discardableResult
    func wait(within limit: Duration = .seconds(30)) throws -> End {
        let deadline = ContinuousClock.now + limit
        while isRunning {
            guard .now < deadline else { throw Trouble("process \(id) did not end within \(limit)") }
            usleep(500)
        }
        return end ?? .exited(0)
    }

    /// Kills it, and waits until it is gone.
    func end(by signal: Int32 = SIGKILL) throws {
        send(signal)
        try wait()
    }

    private static func end(_ status: Int32) -> End {
        let signal = status & 0x7f
        return signal == 0 ? .exited(status >> 8 & 0xff) : .killed(signal)
    }
}

/// Runs a program to its end, and says how that came.
func run(_ arguments: [String], errors: String = "/dev/null", within limit: Duration = .seconds(30)) throws -> Child.End
{
    try Child(arguments, errors: errors).wait(within: limit)
}
