#if MQTT
import Foundation
import Synchronization
import Testing

@testable import KiiPushTestSupport

/// Debian's broker, on a free port of the loopback interface, stopped with the value.
final class Broker: Sendable {
    let folder: Folder
    let port: Int
    private let process = Mutex<pid_t?>(nil)

    /// Starts a broker that lets anybody do everything, with further lines of configuration.
    ///
    /// - Parameters:
    ///   - lines: of the broker; `FOLDER` stands for its folder.
    ///   - options: lines of its listener.
    ///   - before: makes the files that the lines name.
    /// - Throws: when it does not start.
    init(
        _ lines: [String] = ["allow_anonymous true"], options: [String] = [], before: (Folder) throws -> Void = { _ in }
    ) throws {
        folder = try Folder()
        try before(folder)
        port = try Loopback.freePort()
        let listener = ["listener \(port) 127.0.0.1"] + options
        let store = "persistence true\npersistence_location \(folder.path)/\nlog_type all"
        // As root it would become another user, who may not write to the folder.
        let text = "user root\n\(store)\n\(listener.joined(separator: "\n"))\n\(lines.joined(separator: "\n"))\n"
        try folder.write(text.replacing("FOLDER", with: folder.path), to: "mosquitto.conf")
        try start()
    }

    /// Starts a broker that lets in one user only.
    convenience init(user: String, password: String) throws {
        try self.init(["allow_anonymous false", "password_file FOLDER/passwords"]) { folder in
            try Self.setPassword(password, of: user, in: folder)
        }
    }

    deinit { try? stop() }

    /// Makes the file of passwords anew, with those of one user.
    static func setPassword(_ password: String, of user: String, in folder: Folder) throws {
        try run(
            ["mosquitto_passwd", "-b", "-c", "\(folder.path)/passwords", user, password],
            output: "\(folder.path)/passwd.log")
    }

    static let program = "/usr/sbin/mosquitto"

    /// Starts the broker, and waits until it accepts connections.
    func start() throws {
        let process = try spawn([Self.program, "-c", "\(folder.path)/mosquitto.conf"], output: "\(folder.path)/log")
        self.process.withLock { $0 = process }
        for _ in 0..<2400 {
            // Another program may have taken its port meanwhile, and would answer in its place.
            let hasEnded = waitpid(process, nil, WNOHANG) == process
            if hasEnded { self.process.withLock { $0 = nil } }
            try #require(!hasEnded, "mosquitto ended: \(log)")
            if Loopback.listens(port) { return }
            usleep(25_000)
        }
        Issue.record("mosquitto does not answer: \(log)")
    }

    /// What the broker has said.
    var log: String { (try? String(contentsOfFile: "\(folder.path)/log", encoding: .utf8)) ?? "" }

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

    /// Waits until the broker has granted a subscription.
    func sawSubscription(_ filter: String) async throws {
        try await eventually("the broker granted \(filter)") {
            log.contains("\(filter) (QoS") && log.contains("Sending SUBACK")
        }
    }

    /// Forgets the sessions of a broker that is stopped.
    func forget() throws { try FileManager.default.removeItem(atPath: "\(folder.path)/mosquitto.db") }

    /// Publishes messages, one a text, and waits until the broker has them all.
    func publish(
        _ texts: [String], to topic: String = "push", quality: Int = 1, isRetained: Bool = false, _ more: [String] = []
    ) throws {
        let client = ["mosquitto_pub", "-h", "127.0.0.1", "-p", "\(port)", "-t", topic, "-q", "\(quality)", "-l"]
        let input = try folder.write(texts.map { "\($0)\n" }.joined(), to: "published")
        try run(client + (isRetained ? ["-r"] : []) + more, input: input, output: "\(folder.path)/publisher.log")
    }
}
#endif
