import Foundation
import Testing

/// A directory for one test; gone with the value.
final class Folder: Sendable {
    let path: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "kiipush-mqtt-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        path = url.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file and returns its path.
    @discardableResult
    func write(_ text: String, to name: String, mode: Int = 0o600) throws -> String {
        let file = "\(path)/\(name)"
        try text.write(toFile: file, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        return file
    }
}

#if MQTT
/// Starts a program with nothing to read, and all signals let through: the threads of tasks block them.
func spawn(_ arguments: [String], output: String) throws -> pid_t {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    unsafe posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    unsafe posix_spawn_file_actions_adddup2(&actions, 1, 2)
    var attributes = posix_spawnattr_t()
    var (all, none) = (sigset_t(), sigset_t())
    unsafe sigfillset(&all)
    unsafe sigemptyset(&none)
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    unsafe posix_spawnattr_setsigdefault(&attributes, &all)
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
    var copies = unsafe arguments.map { unsafe strdup($0) } + [nil]
    defer { unsafe copies.forEach { unsafe free($0) } }
    var process: pid_t = 0
    try #require(unsafe posix_spawnp(&process, arguments[0], &actions, &attributes, &copies, environ) == 0)
    return process
}

/// Runs a program to its end, and fails the test when it fails.
func run(_ arguments: [String], output: String) throws {
    let process = try spawn(arguments, output: output)
    var status: Int32 = 0
    for _ in 0..<800 {
        if unsafe waitpid(process, &status, WNOHANG) == process {
            try #require(
                status == 0,
                "\(arguments.joined(separator: " ")): \((try? String(contentsOfFile: output, encoding: .utf8)) ?? "")")
            return
        }
        usleep(25_000)
    }
    kill(process, SIGKILL)
    waitpid(process, nil, 0)
    Issue.record("took too long: \(arguments.joined(separator: " "))")
}
#endif
