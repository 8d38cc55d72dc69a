import Glibc

/// Takes the broker or the link away while messages come.
struct LinkFaults {
    let isLong: Bool

    /// A session whose handlers take a while, so that much is under way at each fault.
    private func session(_ broker: Broker, _ topic: String, port: Int? = nil) throws -> Session {
        let session = try Session(broker, topic, port: port)
        try session.subscribe()
        session.options = ["--pause", "1"]
        try session.run()
        return session
    }

    /// The broker ends in good order, and comes back.
    func restarts() throws -> Row {
        let broker = try Broker()
        let session = try session(broker, "restarts")
        let count = isLong ? 20 : 3
        for _ in 1...count {
            session.publisher.publish(500)
            usleep(UInt32.random(in: 20_000...120_000))
            try broker.stop()
            try broker.start()
        }
        var row = try session.finish("broker restarted (SIGTERM)")
        row.runs = count
        return row
    }

    /// The broker is killed, when it has written down what it has acknowledged; that it does so is the broker's affair.
    func kills() throws -> Row {
        let broker = try Broker(savesAtOnce: true)
        let session = try session(broker, "kills")
        let count = isLong ? 20 : 3
        for _ in 1...count {
            session.publisher.publish(1500)
            try session.publisher.settle()
            try awaitSave(of: broker)
            usleep(UInt32.random(in: 0...50_000))
            try broker.stop(by: SIGKILL)
            try broker.start()
        }
        var row = try session.finish("broker killed (SIGKILL)")
        row.runs = count
        return row
    }

    /// Waits until the broker has saved once more; it does after each change, and the agent acknowledges all the time.
    private func awaitSave(of broker: Broker) throws {
        let before = broker.lastSave
        var tries = 0
        try wait(for: "the broker saves") {
            let now = broker.lastSave
            tries += 1
            // When nothing is left to change, it has saved all.
            return now.tv_sec != before.tv_sec || now.tv_nsec != before.tv_nsec || tries > 250
        }
    }

    /// The broker forgets its sessions: the agent says that messages may be lost, and those after it are handled.
    func forgets() throws -> Row {
        let broker = try Broker()
        let session = try session(broker, "forgets")
        let count = isLong ? 20 : 3
        for number in 1...count {
            session.publisher.publish(300)
            try session.publisher.settle()
            try wait(for: "all are handled") { try session.handled() == session.publisher.asked }
            let links = session.connections
            try broker.stop()
            broker.forget()
            try broker.start()
            try wait(for: "the agent is connected again") { session.connections > links }
            // It says first that it is connected, and then what it has missed.
            try wait(for: "the agent says that the session is gone") {
                session.log.components(of: "has forgotten the session").count > number
            }
        }
        var row = try session.finish("broker forgot the session")
        row.runs = count
        return row
    }

    /// The link is cut between two packets or in one, both ends alive.
    func cuts() throws -> Row {
        let broker = try Broker()
        let proxy = try Proxy(to: broker.port)
        defer { proxy.stop() }
        let session = try session(broker, "cuts", port: proxy.port)
        let count = isLong ? 100 : 10
        for _ in 1...count {
            session.publisher.publish(200)
            usleep(UInt32.random(in: 0...150_000))
            proxy.cut()
        }
        var row = try session.finish("link cut")
        row.runs = count
        return row
    }

    /// The broker stands still for longer than the keep-alive of five seconds, so that the agent gives the link up.
    func silence() throws -> Row {
        let broker = try Broker()
        let session = try session(broker, "silence")
        let count = isLong ? 3 : 1
        for number in 1...count {
            session.publisher.publish(1500)
            usleep(UInt32.random(in: 20_000...120_000))
            broker.send(SIGSTOP)
            defer { broker.send(SIGCONT) }
            try wait(for: "the agent gives the link up") {
                session.log.components(of: "disconnected").count > number
            }
        }
        var row = try session.finish("broker silent (SIGSTOP) beyond the keep-alive")
        row.runs = count
        return row
    }
}

extension String {
    /// The pieces between all places of a word.
    fileprivate func components(of word: String) -> [Substring] {
        split(separator: word, omittingEmptySubsequences: false)
    }
}
