import Glibc

/// A `kiipush receive` with default settings and a state folder, which prints each message.
final class TrafficAgent {
    /// Where its messages come from.
    enum Source: Sendable {
        case socket
        case broker

        var name: String { self == .socket ? "Unix socket" : "MQTT" }
    }

    let source: Source
    /// Where its standard output is read.
    let output: Int32
    let state: String
    private let tool: String
    private let folder: Folder
    private let broker: Broker?
    private var child: Child?
    private static let topic = "traffic"

    init(tool: String, source: Source) throws {
        self.tool = tool
        self.source = source
        folder = try Folder()
        state = "\(folder.path)/state"
        broker = source == .broker ? try Self.startedBroker() : nil
        try kiipush_faults.write(Self.rules.utf8, to: "\(folder.path)/rules.json")
        // Opened for writing as well, so that it has no end while the agent restarts.
        mkfifo("\(folder.path)/output", 0o600)
        output = open("\(folder.path)/output", O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard output >= 0 else { throw Trouble("no pipe in \(folder.path): \(text())") }
        // F_SETPIPE_SZ: so that the agent does not wait for us.
        _ = fcntl(output, 1031, 1 << 20)
    }

    deinit {
        try? child?.end()
        close(output)
    }

    /// A broker; its port was free when it was looked for, and another row's connection may have taken it since.
    private static func startedBroker() throws -> Broker {
        for _ in 0..<4 {
            if let broker = try? Broker() { return broker }
        }
        return try Broker()
    }

    private static let rules = """
        {"version": 1, "rules": [
          {"id": "changes", "when": {"kind": "pushToApp"}, "then": {"print": true}},
          {"id": "topics", "when": {"kind": "pushToUser"}, "then": {"print": true}},
          {"id": "direct", "when": {"kind": "directPush"}, "then": {"print": true}}]}
        """

    // MARK: The process

    /// Starts it, and waits until it receives.
    func start() throws {
        let logged = contents(of: logPath).count
        var command = [tool, "receive", "--rules", "\(folder.path)/rules.json", "--state", state]
        switch broker {
        case nil: command += ["--unix", "\(folder.path)/push.sock"]
        case let broker?:
            command += ["--mqtt", "mqtt://127.0.0.1:\(broker.port)/\(Self.topic)", "--client-id", Self.topic]
        }
        let child = try Child(command, output: "\(folder.path)/output", errors: logPath)
        self.child = child
        try wait(for: "the agent receives", within: .seconds(10)) {
            guard child.isRunning else { throw Trouble("the agent ended: \(log.suffix(400))") }
            switch broker {
            case nil: return SocketLink(path: "\(folder.path)/push.sock") != nil
            case _?:
                let new = String(decoding: contents(of: logPath, from: logged), as: UTF8.self)
                return new.contains("QoS 1 granted")
            }
        }
    }

    /// A new connection to it.
    func connect() throws -> any Link {
        let link: (any Link)? =
            switch broker {
            case nil: SocketLink(path: "\(folder.path)/push.sock")
            case let broker?: BrokerLink(port: broker.port, topic: Self.topic)
            }
        guard let link else { throw Trouble("no connection: \(text())") }
        return link
    }

    var isRunning: Bool { child?.isRunning ?? false }
    var end: Child.End? { child?.end }
    func send(_ signal: Int32) { child?.send(signal) }
    func kill() throws { try child?.end() }

    private var logPath: String { "\(folder.path)/log" }
    /// What it has logged.
    var log: String { words(of: logPath) }
    /// How many lines it has logged.
    var logLines: Int { contents(of: logPath).count { $0 == 0x0A } }

    // MARK: Its state

    /// Starts a command of the tool on the agent's state, whose output goes to a new file.
    func command(_ arguments: [String]) throws -> (child: Child, output: String) {
        let output = "\(folder.path)/answer"
        unlink(output)
        return (try Child([tool] + arguments + ["--state", state], output: output, errors: "\(output)-errors"), output)
    }

    /// How many payloads the inbox has; nil when the database cannot be read.
    var waiting: Int? { try? Database.waiting(state) }
}
