import Glibc
import KiiPushSystem
import Testing

/// Starts a program, found on `PATH`, with further variables; whoever starts it waits for its end.
///
/// Its standard error goes where its output goes, unless it has a file of its own. No signal is blocked or ignored: the
/// threads of tasks block them, and a program inherits that.
func spawn(
    _ arguments: [String], input: String = "/dev/null", output: String, errors: String? = nil, variables: [String] = []
) throws -> pid_t {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    let flags = O_WRONLY | O_CREAT | O_APPEND
    unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input, O_RDONLY, 0)
    unsafe posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, flags, 0o600)
    if let errors {
        unsafe posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors, flags, 0o600)
    } else {
        unsafe posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
    }
    var attributes = posix_spawnattr_t()
    var (all, none) = (sigset_t(), sigset_t())
    unsafe sigfillset(&all)
    unsafe sigemptyset(&none)
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    unsafe posix_spawnattr_setsigdefault(&attributes, &all)
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
    var words = unsafe arguments.map { unsafe strdup($0) } + [nil]
    defer { unsafe words.forEach { unsafe free($0) } }
    let inherited = unsafe sequence(state: environ) { next -> UnsafeMutablePointer<CChar>? in
        defer { unsafe next += 1 }
        return unsafe next.pointee
    }
    let own = unsafe variables.map { unsafe strdup($0) }
    defer { unsafe own.forEach { unsafe free($0) } }
    var environment = unsafe own + Array(inherited) + [nil]
    var process: pid_t = 0
    let error = unsafe posix_spawnp(&process, arguments[0], &actions, &attributes, &words, &environment)
    guard error == 0 else { throw TestFailure(what: arguments[0], code: error) }
    return process
}

/// Runs a program to its end, and fails the test when it fails.
func run(_ arguments: [String], input: String = "/dev/null", output: String) throws {
    let process = try spawn(arguments, input: input, output: output)
    let name = arguments.joined(separator: " ")
    var status: Int32 = 0
    for _ in 0..<10_000 {
        if unsafe waitpid(process, &status, WNOHANG) == process {
            let words = try ByteReader(path: output).readAll(limit: 1 << 20)
            return try #require(status == 0, "\(name): \(String(decoding: words, as: UTF8.self))")
        }
        usleep(2_000)
    }
    kill(process, SIGKILL)
    waitpid(process, nil, 0)
    Issue.record("took too long: \(name)")
}

/// A program's exit code, or 256 and the signal that ended it; no exit code is as high.
func exitCode(of status: Int32) -> Int32 { status & 0x7F == 0 ? status >> 8 & 0xFF : 256 + status & 0x7F }

/// Whether a process is gone, or waits for nothing but its parent.
func isOver(_ process: pid_t) -> Bool {
    guard let status = try? ByteReader(path: "/proc/\(process)/stat").readAll(limit: 4096) else { return true }
    return String(decoding: status, as: UTF8.self).contains(") Z ")
}

/// The path of the tool that was built beside the tests.
func toolPath() throws -> String {
    var bytes = [CChar](repeating: 0, count: 4096)
    let count = unsafe readlink("/proc/self/exe", &bytes, bytes.count)
    guard count > 0 else { throw TestFailure(what: "readlink", code: errno) }
    let path = String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return String(path.prefix(through: path.lastIndex(of: "/") ?? path.startIndex)) + "kiipush"
}
