#if MQTT
import Foundation
import Synchronization
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
    func write(_ text: String, to name: String, mode: Int = 0o600) throws -> String {
        let file = "\(path)/\(name)"
        try text.write(toFile: file, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        return file
    }
}

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

/// Debian's broker, on a free port of the loopback interface, stopped with the value.
final class Broker: Sendable {
    let folder: Folder
    let port: Int
    private let process = Mutex<pid_t?>(nil)

    /// Starts a broker that lets anybody do everything, with further lines of configuration.
    init(_ lines: [String] = ["allow_anonymous true"], options: [String] = []) throws {
        folder = try Folder()
        port = try Self.freePort()
        let listener = ["listener \(port) 127.0.0.1"] + options
        let store = "persistence true\npersistence_location \(folder.path)/\nlog_type all"
        // As root it would become another user, who may not write to the folder.
        let text = "user root\n\(store)\n\(listener.joined(separator: "\n"))\n\(lines.joined(separator: "\n"))\n"
        _ = try folder.write(text.replacing("FOLDER", with: folder.path), to: "mosquitto.conf")
        try start()
    }

    deinit { try? stop() }

    static let program = "/usr/sbin/mosquitto"

    private static func freePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        return try unsafe withUnsafeMutablePointer(to: &address) { pointer in
            try unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                try #require(unsafe bind(descriptor, address, length) == 0)
                try #require(unsafe getsockname(descriptor, address, &length) == 0)
            }
            return unsafe Int(UInt16(bigEndian: pointer.pointee.sin_port))
        }
    }

    /// Starts the broker, and waits until it accepts connections.
    func start() throws {
        let process = try spawn([Self.program, "-c", "\(folder.path)/mosquitto.conf"], output: "\(folder.path)/log")
        self.process.withLock { $0 = process }
        for _ in 0..<200 {
            if accepts { return }
            try #require(kill(process, 0) == 0, "mosquitto ended: \(log)")
            usleep(25_000)
        }
        Issue.record("mosquitto does not answer: \(log)")
    }

    /// What the broker has said.
    var log: String { (try? String(contentsOfFile: "\(folder.path)/log", encoding: .utf8)) ?? "" }

    private var accepts: Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    /// Sends the broker a signal.
    func signal(_ number: Int32) {
        process.withLock { process in
            if let process { _ = kill(process, number) }
        }
    }

    /// Stops the broker and waits for its end; when it is asked to end, it saves its sessions.
    func stop(_ signal: Int32 = SIGTERM) throws {
        let process = process.withLock { process in
            defer { process = nil }
            return process
        }
        guard let process else { return }
        kill(process, SIGCONT)
        kill(process, signal)
        for _ in 0..<400 {
            if waitpid(process, nil, WNOHANG) == process { return }
            usleep(25_000)
        }
        kill(process, SIGKILL)
        _ = waitpid(process, nil, 0)
    }

    /// Waits until the broker has dealt with the last words of a client.
    func sawEnd(of client: String = "device", times: Int = 1) async throws {
        try await eventually("the broker saw \(client) go") {
            log.split(separator: "\n").count { line in
                line.contains("Client \(client) ") && (line.contains("disconnected") || line.contains("closed its"))
            } >= times
        }
    }

    /// Forgets the sessions of a broker that is stopped.
    func forget() throws { try FileManager.default.removeItem(atPath: "\(folder.path)/mosquitto.db") }

    /// Publishes messages, one a text, and waits until the broker has them all.
    func publish(
        _ texts: [String], to topic: String = "push", quality: Int = 1, isRetained: Bool = false, _ more: [String] = []
    ) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/mosquitto_pub")
        process.arguments =
            ["-h", "127.0.0.1", "-p", "\(port)", "-t", topic, "-q", "\(quality)", "-l"] + (isRetained ? ["-r"] : [])
            + more
        let input = Pipe()
        process.standardInput = input
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data(texts.map { "\($0)\n" }.joined().utf8))
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
    }
}
#endif
