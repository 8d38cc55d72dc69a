import Glibc

/// Takes the broker or the link away while messages come.
struct LinkFaults {
    let isLong: Bool

    /// Makes a fault so many times, each time after some messages, whose handlers take a while, so that much is under
    /// way.
    private func row(
        _ fault: String, _ broker: Broker, port: Int? = nil, times: (short: Int, long: Int), messages: Int,
        make: (_ session: Session, _ number: Int) throws -> Void
    ) throws -> Row {
        let session = try Session(broker, "link", port: port)
        try session.subscribe()
        session.options = ["--pause", "1"]
        try session.run()
        let count = isLong ? times.long : times.short
        for number in 1...count {
            session.publisher.publish(messages)
            try make(session, number)
        }
        var row = try session.finish(fault)
        row.runs = count
        return row
    }

    /// The broker ends in good order, and comes back.
    func restarts() throws -> Row {
        let broker = try Broker()
        return try row("broker restarted (SIGTERM)", broker, times: (3, 20), messages: 500) { _, _ in
            usleep(UInt32.random(in: 20_000...120_000))
            try broker.stop()
            try broker.start()
        }
    }

    /// The broker is killed, when it has written down what it has acknowledged; that it does so is the broker's affair.
    func kills() throws -> Row {
        let broker = try Broker(savesAtOnce: true)
        return try row("broker killed (SIGKILL)", broker, times: (3, 20), messages: 1500) { session, _ in
            try session.publisher.settle()
            try awaitSave(of: broker)
            usleep(UInt32.random(in: 0...50_000))
            try broker.stop(by: SIGKILL)
            try broker.start()
        }
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
        return try row("broker forgot the session", broker, times: (3, 20), messages: 300) { session, number in
            try session.publisher.settle()
            try wait(for: "all are handled") { try session.handled() == session.publisher.asked }
            let links = session.connections
            try broker.stop()
            broker.forget()
            try broker.start()
            try wait(for: "the agent is connected again") { session.connections > links }
            // It says first that it is connected, and then what it has missed.
            try wait(for: "the agent says that the session is gone") {
                session.log.ranges(of: "has forgotten the session").count >= number
            }
        }
    }

    /// The link is cut between two packets or in one, both ends alive.
    func cuts() throws -> Row {
        let broker = try Broker()
        let proxy = try Proxy(to: broker.port)
        defer { proxy.stop() }
        return try row("link cut", broker, port: proxy.port, times: (10, 100), messages: 200) { _, _ in
            usleep(UInt32.random(in: 0...150_000))
            proxy.cut()
        }
    }

    /// The broker stands still for longer than the keep-alive of five seconds, so that the agent gives the link up.
    func silence() throws -> Row {
        let broker = try Broker()
        let fault = "broker silent (SIGSTOP) beyond the keep-alive"
        return try row(fault, broker, times: (1, 3), messages: 1500) { session, number in
            usleep(UInt32.random(in: 20_000...120_000))
            broker.send(SIGSTOP)
            defer { broker.send(SIGCONT) }
            try wait(for: "the agent gives the link up") {
                session.log.ranges(of: "disconnected").count >= number
            }
        }
    }
}
