import Glibc

/// Two agents with one client id, which a broker takes for one device: they cut each other's link.
struct Rivals {
    let program: Program
    let isLong: Bool

    func row() throws -> Row {
        let broker = try Broker()
        let first = try Session(broker, "rivals", program: program)
        let second = try Session(broker, "rivals", program: program)
        try first.subscribe()
        try first.run()
        try second.run()
        let seconds = isLong ? 60 : 12
        var published = 0
        for _ in 1...seconds * 4 {
            first.publisher.publish(5)
            published += 5
            usleep(250_000)
        }
        var row = Row(fault: "two agents with one client id, for \(seconds) s")
        for (name, session) in [("first", first), ("second", second)] {
            // Ever more slowly: no more than one for each second, where each would come back at once.
            let links = session.connections
            if links > seconds { row.broken.append("the \(name) one connected \(links) times in \(seconds) s") }
            if !session.log.contains("another program seems to connect with the client id 'rivals'") {
                row.broken.append("the \(name) one does not say why: \(session.log.suffix(600))")
            }
            row.runs += links
        }
        // One of them goes; the other brings what is left.
        try second.stop()
        try first.publisher.settle()
        try wait(for: "all are handled by one or the other", within: .seconds(60)) {
            usleep(20_000)
            _ = try (first.handled(), second.handled())
            return first.book.distinct.union(second.book.distinct).count == published
        }
        try first.stop()
        row.messages = published
        row.broken += first.broken + second.broken
        for session in [first, second] {
            let letters = try Database.check(session.state, in: session.folder.path).letters.count
            if letters > 0 { row.broken.append("\(letters) honest messages were dead-lettered") }
        }
        return row
    }
}
