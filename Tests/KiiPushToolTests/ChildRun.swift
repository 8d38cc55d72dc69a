import Glibc

/// A run of the tool as a process of its own, for what only a process shows: its memory and its standard input.
struct ChildRun {
    let code: Int32
    /// The most memory that it ever had, in bytes.
    let peakMemory: Int
    let output: String
    let errors: String

    /// Runs the tool that was built beside the tests, with `input` as its standard input, and waits for its end.
    init(_ arguments: [String], input: String = "/dev/null") throws {
        let printed = try TemporaryFile("", name: "output")
        let reported = try TemporaryFile("", name: "errors")
        let process = try Self.start(arguments, input: input, output: printed.path, errors: reported.path)
        var status: Int32 = 0
        var usage = rusage()
        guard unsafe wait4(process, &status, 0, &usage) == process else { throw Failure(what: "wait4", code: errno) }
        // A signal's number stands in the low bits; no exit code of the tool is as high as this.
        code = status & 0x7F == 0 ? status >> 8 & 0xFF : 256 + status & 0x7F
        peakMemory = usage.ru_maxrss * 1024
        output = try printed.contents()
        errors = try reported.contents()
    }

    /// Starts the tool that was built beside the tests, with further variables; whoever starts it waits for its end.
    static func start(
        _ arguments: [String], input: String, output: String, errors: String, variables: [String] = []
    ) throws -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input, O_RDONLY, 0)
        unsafe posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY, 0)
        unsafe posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors, O_WRONLY, 0)
        var copies = unsafe (["kiipush"] + arguments).map { unsafe strdup($0) } + [nil]
        defer { unsafe copies.forEach { unsafe free($0) } }
        let inherited = unsafe sequence(state: environ) { next -> UnsafeMutablePointer<CChar>? in
            defer { unsafe next += 1 }
            return unsafe next.pointee
        }
        let own = unsafe variables.map { unsafe strdup($0) }
        defer { unsafe own.forEach { unsafe free($0) } }
        var environment = unsafe own + Array(inherited) + [nil]
        var process: pid_t = 0
        let error = unsafe posix_spawn(&process, try tool(), &actions, nil, &copies, &environment)
        guard error == 0 else { throw Failure(what: "posix_spawn", code: error) }
        return process
    }

    struct Failure: Error {
        let what: String
        let code: Int32
    }

    /// The tool's path: the tests' own program lies in the same folder.
    static func tool() throws -> String {
        var bytes = [CChar](repeating: 0, count: 4096)
        let count = unsafe readlink("/proc/self/exe", &bytes, bytes.count)
        guard count > 0 else { throw Failure(what: "readlink", code: errno) }
        let path = String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return String(path.prefix(through: path.lastIndex(of: "/") ?? path.startIndex)) + "kiipush"
    }
}
