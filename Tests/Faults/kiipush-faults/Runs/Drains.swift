import Glibc

/// Asks an agent to stop while messages come.
struct Drains {
    var program = Program.own
    let isLong: Bool

    func row() throws -> Row {
        let broker = try Broker()
        let session = try Session(broker, "drain", program: program)
        try session.subscribe()
        if case .own = program { session.options = ["--pause", "2", "--drain", "5000"] }
        let count = isLong ? 50 : 6
        for number in 1...count {
            session.publisher.publish(400)
            try session.run()
            // One that has not set itself up yet ends as every program does.
            try wait(for: "the agent is connected") { session.connections > number }
            usleep(UInt32.random(in: 0...300_000))
            let logged = session.log.utf8.count
            let before = try Database.look(session.state).waiting
            // It ends at once, but for what a disk takes that others use too: the time to drain, the grace, and then
            // some.
            try session.stop(within: .seconds(30))
            try check(session, String(session.log.utf8.dropFirst(logged)) ?? "", before)
        }
        var row = try session.finish("SIGTERM under load (\(program.name))")
        row.runs = count
        return row
    }

    /// Checks that what the agent reported as left is what lies in its inbox.
    private func check(_ session: Session, _ log: String, _ before: Int) throws {
        let left = try Database.check(session.state, in: session.folder.path).waiting
        let line = log.split(separator: "\n").last { $0.contains("stopped: ") }
        // It may not have run its service yet when the signal came; then nothing changed.
        guard let line else {
            if left != before { session.broken.append("\(left) are left after \(before), and nothing is reported") }
            return
        }
        let words = line.split { $0 == " " || $0 == "," }
        guard let index = words.firstIndex(of: "left"), index > 0, let reported = Int(words[index - 1]) else {
            return session.broken.append("no count of what is left: \(line)")
        }
        if reported != left { session.broken.append("reported as left: \(reported), in the inbox: \(left)") }
        if !line.contains(" 0 cancelled") { session.broken.append("handlers of 2 ms should not be cancelled: \(line)") }
    }
}
