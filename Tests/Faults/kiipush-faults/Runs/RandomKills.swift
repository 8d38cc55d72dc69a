import Glibc

/// Kills an agent at random moments, while messages come.
struct RandomKills {
    var kills = 40
    var messages = 5000
    var program = Program.own
    /// What is planted in each of the agent's processes.
    var options: [String] = []

    func row() throws -> Row {
        let broker = try Broker()
        let session = try Session(broker, "random", program: program)
        session.options = options
        let isTool = if case .tool = program { true } else { false }
        if !isTool {
            // So that dead letters are written too, and more of them than a key has a share for: the last one counts.
            let failing = max(messages / 500, 13)
            session.failing = failing
            session.options += ["--failing", "\(failing)"]
        }
        try session.subscribe()
        for kill in 1...kills {
            session.publisher.publish(messages * kill / kills - messages * (kill - 1) / kills)
            try session.run()
            // From its first instruction on: while it opens the file, handles what was left, connects, and receives.
            usleep(UInt32.random(in: 0...150_000))
            try session.kill()
        }
        return try session.finish(
            "kill -9 at random moments (\(program.name))", within: .seconds(options.isEmpty ? 120 : 5))
    }
}
