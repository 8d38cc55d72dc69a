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

/// Kills an agent at exactly one point of its work, the n-th time that it comes there.
struct PlantedKills {
    let point: Deaths.Point
    let isLong: Bool

    /// How many messages there are; every thirteenth fails and becomes a dead letter.
    private static let messages = 60
    private static let failing = ["--failing", "13"]

    /// The n for which the agent dies at the n-th time; each is reached, since the broker sends 20 messages at once.
    private var counts: [Int] {
        let all =
            switch point {
            case .beforeCommit, .afterCommit: [1, 2]
            case .beforeLetter, .afterLetter, .beforeLetterEnded: [1, 4, 2, 3]
            case .afterAcknowledgement: [1, 60, 21, 33, 47]
            default: [1, 40, 2, 3, 5, 8, 13, 21, 34, 50]
            }
        return isLong ? all : Array(all.prefix(2))
    }

    func row(_ broker: Broker) throws -> Row {
        var row = Row(fault: "kill -9 \(point.rawValue.replacing("-", with: " "))")
        for count in counts {
            let session = try Session(broker, "\(point.rawValue)-\(count)")
            session.options = Self.failing
            try session.subscribe()
            session.publisher.publish(Self.messages)
            try session.publisher.settle()
            try session.run(["--die", "\(point.rawValue):\(count)"])
            try session.expectKilled()
            row.add(try session.finish(row.fault))
        }
        return row
    }

    /// A message that ends the process whenever it is handled: it is dead-lettered, and the others are handled.
    static func deadlyMessage(_ broker: Broker) throws -> Row {
        let session = try Session(broker, "deadly")
        session.options = ["--deadly", "30"]
        try session.subscribe()
        session.publisher.publish(messages)
        try session.publisher.settle()
        for _ in 1...4 {
            try session.run()
            try session.expectKilled()
        }
        var row = try session.finish("a message that kills its handler")
        let letters = try Database.check(session.state, in: session.folder.path).letters
        if letters != [Database.Letter(number: 30, reason: "quarantined")] {
            row.broken.append("message 30 should be quarantined: \(letters)")
        }
        return row
    }
}
