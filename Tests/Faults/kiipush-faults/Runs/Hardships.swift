import Glibc

/// Kills a `kiipush receive` at random moments, over TLS, and makes its life hard in between: nothing may be lost, and
/// no message be dead-lettered.
struct Hardships {
    /// What is done to it between two kills.
    enum Kind: CaseIterable {
        case certificate, password, disk, descriptors, log, none
    }

    let program: Program
    var kills = 24
    var messages = 2400

    private static let megabytes = 24

    /// Prints each message, and runs a program for one in twenty.
    private static let rules = """
        {"version": 1,
         "rules": [{"id": "book", "when": {"kind": "pushToApp"}, "then": {"print": true}, "continue": true,
                    "pace": "unlimited"},
                   {"id": "program", "when": {"kind": "pushToApp", "object": "object-7*"}, "pace": "unlimited",
                    "then": {"run": ["sh", "-c", "cat >/dev/null"]}}]}
        """

    /// The row; nil where no disk can be mounted, which takes root.
    func row() throws -> Row? {
        let security = try Security()
        let broker = try Broker(security: security)
        let session = try Session(broker, "hardships", program: program, security: security)
        session.rules = Self.rules
        mkdir(session.state, 0o700)
        guard mount("none", session.state, "tmpfs", 0, "size=\(Self.megabytes)m,mode=700") == 0 else { return nil }
        defer { umount2(session.state, Int32(MNT_DETACH)) }
        let pipe = try LogPipe("\(session.folder.path)/pipe", to: session.errors)
        defer { pipe.stop() }
        session.errors = pipe.path
        try session.subscribe()
        for kill in 1...kills {
            session.publisher.publish(messages * kill / kills - messages * (kill - 1) / kills)
            try session.run()
            let kind = Kind.allCases[kill % Kind.allCases.count]
            // Before it connects, while it does, or while messages come.
            usleep(UInt32.random(in: 0...150_000))
            try begin(kind, session, pipe)
            usleep(UInt32.random(in: 0...150_000))
            // One in two sees the hardship's end too.
            if Bool.random() {
                end(kind, session, pipe)
                usleep(UInt32.random(in: 0...100_000))
            }
            // One that finds the disk full at its start says so and ends, for its service manager to start it again.
            try session.kill(orEndedSaying: kind == .disk ? "no room is left" : nil)
            end(kind, session, pipe)
        }
        var row = try session.finish(
            "kill -9, certificates, disk, descriptors, log (\(program.name))", within: .seconds(240))
        if row.letters > 0 { row.broken.append("\(row.letters) honest messages were dead-lettered") }
        for word in ["panic", "Fatal error", "Program crashed"] where session.log.contains(word) {
            row.broken.append("an agent said: \(word)")
        }
        return row
    }

    private func begin(_ kind: Kind, _ session: Session, _ pipe: LogPipe) throws {
        switch kind {
        case .none: break
        case .certificate: try session.security?.rotateCertificate()
        case .password:
            try session.security?.rotatePassword()
            session.broker.send(SIGHUP)
        case .disk: filler(session).fill(leaving: Int.random(in: 0...40_000))
        case .descriptors:
            guard let process = session.process else { return }
            // Less than its reserve ends any Swift program, in Dispatch.
            let few = max(files(of: process) + 10, 40) + Int.random(in: 0...8)
            _ = try run(["prlimit", "--pid", "\(process)", "--nofile=\(few):"])
        case .log: pipe.block()
        }
    }

    private func end(_ kind: Kind, _ session: Session, _ pipe: LogPipe) {
        switch kind {
        case .disk: filler(session).remove()
        case .descriptors:
            guard let process = session.process else { return }
            _ = try? run(["prlimit", "--pid", "\(process)", "--nofile=1024:"])
        case .log: pipe.unblock()
        default: break
        }
    }

    private func filler(_ session: Session) -> Filler { Filler(path: "\(session.state)/filler") }
}

/// How many files a process has open.
func files(of process: pid_t) -> Int { names(in: "/proc/\(process)/fd")?.count ?? 0 }
