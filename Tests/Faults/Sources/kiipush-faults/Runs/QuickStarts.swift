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
        {"version": 1, "loop": {"rate": {"messages": 1000000, "per": "10s"}},
         "rules": [{"id": "program", "when": {"kind": "pushToApp"}, "then": {"run": ["sh", "-c", "cat >/dev/null"]}}]}
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
            let isReady = { String(decoding: session.log.utf8.dropFirst(before), as: UTF8.self).contains(ready) }
            try wait(for: "agent \(run) is ready") {
                guard agent.isRunning else {
                    let said = String(decoding: session.log.utf8.dropFirst(before), as: UTF8.self)
                    throw Trouble("start \(run) failed: \(agent.end.map { "\($0)" } ?? "") \(said.suffix(600))")
                }
                return isReady()
            }
            number += 40
            if source == .mqtt { session.publisher.publish(40) } else { try feed(socket, number - 39...number) }
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

    /// Sends payloads, and does not wait for answers.
    private func feed(_ path: String, _ numbers: ClosedRange<Int>) throws {
        let link = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(link) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                connect(link, address, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw Trouble("\(path): \(text())") }
        let lines = numbers.flatMap { NumberedMessage.payload($0) + [UInt8(ascii: "\n")] }
        _ = send(link, lines, lines.count, Int32(MSG_NOSIGNAL))
    }
}
