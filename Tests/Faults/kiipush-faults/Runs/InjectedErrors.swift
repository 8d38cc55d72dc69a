import Glibc

/// Has the system refuse the n-th call of a kind, or all from the n-th on, to every thread of a running
/// `kiipush receive`: it must go on, use up no attempt, and when the system is well again handle all.
///
/// strace does so from outside; what the agent starts is traced too, so programs make none of the calls themselves.
struct InjectedErrors {
    /// What fails, and how an agent is brought to make such calls.
    struct Kind {
        let calls: String
        let errors: [String]
        var source = QuickStarts.Source.mqtt
        /// What the agent has to say of it; nil where a link that is made anew, or nothing, is as good.
        var words: String?
        var cutsLink = false
        /// Whether only the files fail that an operator may change; without some others no Swift program goes on.
        var isOfFiles = false
    }

    let program: Program
    let isLong: Bool

    static let kinds = [
        Kind(
            calls: "accept,accept4", errors: ["EMFILE", "ENFILE", "ENOMEM", "ENOBUFS"], source: .socket,
            words: "short of"),
        Kind(calls: "socketpair", errors: ["EMFILE", "ENFILE", "ENOMEM"], words: "short of"),
        Kind(calls: "pipe,pipe2", errors: ["EMFILE", "ENFILE"], words: "short of"),
        Kind(calls: "clone,clone3,vfork,fork", errors: ["EAGAIN", "ENOMEM"]),
        Kind(calls: "write,writev", errors: ["ENOSPC", "ENOMEM", "EAGAIN"]),
        Kind(calls: "fdatasync,fsync", errors: ["ENOSPC", "EIO"], words: "Failed"),
        Kind(calls: "pwrite64", errors: ["ENOSPC", "EIO"], words: "Failed"),
        Kind(calls: "socket", errors: ["EMFILE", "ENFILE", "ENOBUFS"], cutsLink: true),
        Kind(
            calls: "openat,open", errors: ["EMFILE", "ENFILE", "ENOMEM"], words: "cannot be read", isOfFiles: true),
    ]

    private static let messages = 40
    /// Prints each message, and gives it to a program, which fails where it does not get all of it.
    private static let rules = """
        {"version": 1,
         "rules": [{"id": "book", "when": {"kind": "pushToApp"}, "then": {"print": true}, "continue": true,
                    "pace": "unlimited"},
                   {"id": "program", "when": {"kind": "pushToApp", "object": ["object-1*", "object-2*"]}, "pace": "unlimited",
                    "then": {"run": ["grep", "-q", "sentAt.*}$"]}}]}
        """

    /// The row of one kind; nil where nothing may be traced, which takes the right to.
    func row(_ kind: Kind) throws -> Row? {
        guard try kiipush_faults.run(["strace", "-o", "/dev/null", "true"]) == .exited(0) else { return nil }
        var row = Row(fault: "strace: \(kind.calls) refused at the n-th call")
        for error in isLong ? kind.errors : Array(kind.errors.prefix(1)) {
            for pattern in ["", "+"] {
                for number in 1...(isLong ? 6 : 1) {
                    let (other, isReached) = try attempt(kind, error, "\(number)\(pattern)")
                    row.add(other)
                    if !isReached { break }
                }
            }
        }
        if row.runs == 0 { row.broken.append("no call was reached") }
        return row
    }

    /// One agent; and whether one of its calls was refused.
    private func attempt(_ kind: Kind, _ error: String, _ when: String) throws -> (Row, Bool) {
        let start = ContinuousClock.now
        let broker = try Broker()
        let proxy = try Proxy(to: broker.port)
        defer { proxy.stop() }
        let session = try Session(broker, "inject", program: program, port: proxy.port)
        session.rules = Self.rules
        let place = "\(error) at \(when) of \(kind.calls)"
        let path = "\(session.folder.path)/push.sock"
        if kind.source == .socket {
            session.source = ["--unix", path]
            try session.run()
            try wait(for: "the agent listens") { session.log.contains("listens at") }
        } else {
            try session.subscribe()
            try session.run()
            try wait(for: "the agent is connected again") { session.connections > 1 }
        }
        guard let process = session.process else { throw Trouble("no agent") }
        let trace = "\(session.folder.path)/trace"
        let files = ["\(session.folder.path)/rules.json", "\(session.state)/kill.json"]
        let tracer = try Child(
            [
                "strace", "-f", "-q", "-p", "\(process)", "-e", "trace=\(kind.calls)",
                "-e", "inject=\(kind.calls):error=\(error):when=\(when)", "-o", trace,
            ] + (kind.isOfFiles ? files.flatMap { ["-P", $0] } : []), errors: "\(session.folder.path)/strace.log")
        try wait(for: "strace has the agent") { Self.areTraced(process) || !tracer.isRunning }
        if kind.cutsLink { proxy.cut() }
        session.send(SIGHUP)
        var socket: UnixLink?
        if kind.source == .socket {
            socket = try UnixLink(path)
            try socket?.send(1...Self.messages)
        } else {
            session.publisher.publish(Self.messages)
        }
        // As long as it takes to meet it, and some more of it.
        let end = ContinuousClock.now + .milliseconds(1200)
        while ContinuousClock.now < end, session.isRunning, try session.handled() < Self.messages { usleep(10_000) }
        if when.hasSuffix("+") { usleep(300_000) }
        // It lets go of the agent then; but it may wait for ever for a thread that waits for a program to begin.
        tracer.send(SIGTERM)
        do { try tracer.wait(within: .seconds(2)) } catch { try tracer.end(by: SIGKILL) }
        let isReached = words(of: trace).contains("(INJECTED)")
        var row = Row(fault: "")
        if session.isRunning {
            if kind.source == .socket {
                try wait(for: "\(place): all are handled") {
                    if !session.isRunning { throw Trouble("\(place): the agent ended: \(session.log.suffix(600))") }
                    return try session.handled() == Self.messages
                }
                try session.stop()
                row.messages = Self.messages
                row.letters = try Database.check(session.state, in: session.folder.path).letters.count
            } else {
                row = try session.finish("")
            }
        } else {
            row.broken.append("the agent ended: \(session.log.suffix(600))")
        }
        withExtendedLifetime(socket) {}
        row.seconds = start.duration(to: .now) / .seconds(1)
        // A call in which strace lets go of a thread is none that the system knows.
        let lines = session.log.split(separator: "\n").filter { !$0.contains("Function not implemented") }
        let log = lines.joined(separator: "\n")
        if row.letters > 0 { row.broken.append("\(row.letters) honest messages were dead-lettered") }
        for word in ["attempt 1 failed", "deadLettered", "Program crashed"] where log.contains(word) {
            row.broken.append("it said '\(word)': \(log.suffix(600))")
        }
        if isReached, when == "1+", let said = kind.words, !log.contains(said.lowercased()), !log.contains("no room") {
            row.broken.append("it did not say '\(said)': \(log.suffix(600))")
        }
        row.broken = row.broken.map { "\(place): \($0)" }
        row.runs = isReached ? 1 : 0
        return (row, isReached)
    }

    /// Whether all threads of a process are traced.
    private static func areTraced(_ process: pid_t) -> Bool {
        guard let threads = names(in: "/proc/\(process)/task") else { return false }
        for thread in threads {
            let status = words(of: "/proc/\(process)/task/\(thread)/status")
            // A thread that has ended meanwhile has no status.
            if !status.isEmpty, !status.contains("Z (zombie)"), status.contains("TracerPid:\t0\n") { return false }
        }
        return true
    }
}
