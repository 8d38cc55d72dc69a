import Glibc

/// Kills an agent while it starts programs, and starts the next one at once: none may fail, though a program that was
/// just being started may have its lock, its database and its socket for a moment.
struct QuickStarts {
    /// Where the payloads come from.
    enum Source: String, CaseIterable {
        case mqtt = "MQTT"
        case socket = "Unix socket"
    }

    let program: Program
    let source: Source
    var starts = 12

    /// Runs a program for each message.
    private static let rules = """
        {"version": 1,
         "rules": [{"id": "program", "when": {"kind": "pushToApp"}, "pace": "unlimited",
                    "then": {"run": ["sh", "-c", "cat >/dev/null"]}}]}
        """

    func row() throws -> Row {
        let broker = try Broker()
        let session = try Session(broker, "starts", program: program)
        session.rules = Self.rules
        let socket = "\(session.folder.path)/push.sock"
        if source == .socket { session.source = ["--unix", socket] } else { try session.subscribe() }
        var row = Row(fault: "start right after kill -9, with programs under way (\(source.rawValue))")
        let start = ContinuousClock.now
        var number = 0
        for run in 1...starts {
            let before = session.log.utf8.count
            let agent = try session.run()
            try wait(for: "agent \(run) is ready") {
                let said = String(decoding: session.log.utf8.dropFirst(before), as: UTF8.self)
                guard agent.isRunning else {
                    let end = agent.end.map { "\($0)" } ?? ""
                    throw Trouble("start \(run) failed: \(end) \(said.suffix(600))")
                }
                return said.contains(ready)
            }
            number += 40
            switch source {
            case .mqtt: session.publisher.publish(40)
            case .socket: try UnixLink(socket).send(number - 39...number)
            }
            usleep(UInt32.random(in: 0...60_000))
            // Not by the session, which would look at all that is left first.
            try agent.end(by: SIGKILL)
        }
        row.runs = starts
        row.messages = number
        row.seconds = start.duration(to: .now) / .seconds(1)
        return row
    }

    private var ready: String { source == .mqtt ? "QoS 1 granted" : "listens at" }
}

/// Asks an agent to stop while it is about to connect over TLS, which it does not wait for: what ends the process then
/// must not take anything from under that.
struct EarlyStops {
    let program: Program
    let isLong: Bool

    func row() throws -> Row {
        let broker = try Broker()
        let session = try Session(broker, "early", program: program)
        var row = Row(fault: "SIGTERM while a TLS link is being made (\(program.name))")
        let start = ContinuousClock.now
        if case .tool = program {
            session.source = ["--mqtt", "mqtts://localhost:\(broker.port)/early", "--client-id", "early"]
        } else {
            session.options = ["--tls"]
        }
        for _ in 1...(isLong ? 300 : 30) {
            let agent = try session.run()
            // When its files are open it reads the system's certificates, for some ten milliseconds.
            try wait(for: "the agent minds SIGTERM") { agent.catches(SIGTERM) || !agent.isRunning }
            usleep(UInt32.random(in: 0...60_000))
            agent.send(SIGTERM)
            let end = try agent.wait()
            // An agent of this program's that has not begun to wait for signals ends by it.
            if end != .exited(0), end != .killed(SIGTERM) {
                row.broken.append("run \(session.runs) ended with \(end)\n\(session.log.suffix(400))")
                break
            }
            row.runs += 1
        }
        row.seconds = start.duration(to: .now) / .seconds(1)
        return row
    }
}
