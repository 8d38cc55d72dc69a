import Glibc

/// Takes the database away from under a `kiipush receive` that runs, or empties it, while messages come: nothing may be
/// acknowledged that is stored nowhere, the agent says so and ends, and the next one goes on.
struct LostState {
    enum Kind: String, CaseIterable {
        case removed, emptied, replaced
    }

    let program: Program
    let kind: Kind
    let isLong: Bool

    func row() throws -> Row {
        let broker = try Broker()
        let session = try Session(broker, "lost", program: program)
        try session.subscribe()
        let file = "\(session.state)/kiipush.db"
        let count = isLong ? 20 : 3
        for number in 1...count {
            let agent = try session.run()
            try wait(for: "the agent is connected again") {
                guard agent.isRunning else { throw Trouble("the agent ended: \(session.log.suffix(600))") }
                return session.connections > number
            }
            session.publisher.publish(100)
            try session.publisher.settle()
            // All of them have ended, so that the file that is lost has none of them.
            try wait(for: "all are handled") { try session.handled() == session.publisher.asked }
            try wait(for: "the inbox is empty") { try Database.look(session.state).waiting == 0 }
            switch kind {
            case .removed: unlink(file)
            case .emptied: truncate(file, 0)
            case .replaced:
                try write(contents(of: file), to: "\(file).copy")
                rename("\(file).copy", file)
            }
            session.publisher.publish(100)
            let end = try agent.wait()
            if end != .exited(1) { session.broken.append("it ended with \(end), not with exit code 1") }
            if session.log.ranges(of: "the state is damaged").count != number {
                session.broken.append("it does not say that the state is damaged: \(session.log.suffix(600))")
            }
        }
        // There is a database to look at again when it is connected.
        try session.run()
        try wait(for: "the agent is connected again") { session.connections > count + 1 }
        var row = try session.finish("database \(kind.rawValue) while it runs")
        row.runs = count
        if row.letters > 0 { row.broken.append("\(row.letters) honest messages were dead-lettered") }
        return row
    }
}
