import Glibc

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
