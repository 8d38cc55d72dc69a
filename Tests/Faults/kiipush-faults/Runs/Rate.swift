import Glibc

/// How fast messages go from the broker through the committed inbox to the handler.
struct Rate {
    var program = Program.own
    var messages = 200_000
    var concurrency = 8
    /// How many messages the broker sends before it waits for acknowledgements.
    var window = 20

    /// Queues messages at the broker, starts the agent, and says how long it took.
    func line() throws -> String {
        let broker = try Broker(window: window)
        let session = try Session(broker, "rate", program: program, concurrency: concurrency)
        try session.subscribe()
        session.publisher.publish(messages)
        try session.publisher.settle(within: .seconds(300))
        let agent = try session.run()
        try wait(for: "the first is handled") { lines(session) > 0 }
        let (first, start, before) = (lines(session), ContinuousClock.now, ProcessFigures.time(of: agent.id))
        var (handled, last, after) = (first, start, before)
        try wait(for: "all have ended", within: .seconds(300)) {
            // Looked at seldom and cheaply: the broker and the agent have the machine's two cores for themselves.
            usleep(20_000)
            let count = lines(session)
            if count > handled { (handled, last, after) = (count, .now, ProcessFigures.time(of: agent.id)) }
            if handled >= messages { return true }
            // Beyond the bound on disk newer changes have replaced older ones.
            return try last.duration(to: .now) > .seconds(1) && Database.look(session.state).waiting == 0
        }
        let resident = ProcessFigures(of: agent.id).resident
        try session.stop()
        let seconds = start.duration(to: last) / .seconds(1)
        let rate = Double(handled - first) / seconds
        let cores = (after - before) / seconds
        return """
            \(program.name), \(concurrency) at once, broker's window \(window): \(Int(rate)) messages/s \
            (\(handled) of \(messages) in \((seconds * 10).rounded() / 10) s, \((cores * 100).rounded() / 100) cores, \
            \(Int(cores / rate * 1_000_000)) µs of CPU each, \(resident / 1024) MiB resident)
            """
    }

    /// How many have been handled: each is a line of a known length at least, so the file's size would not do.
    private func lines(_ session: Session) -> Int { (try? session.handled()) ?? 0 }
}

/// What an agent costs that is connected and has nothing to do.
struct Idle {
    var program = Program.own
    var seconds = 60

    func text() throws -> String {
        let broker = try Broker()
        let session = try Session(broker, "idle", program: program)
        try session.subscribe()
        let agent = try session.run()
        sleep(3)
        let (before, sleeps) = (ProcessFigures(of: agent.id), ProcessFigures.sleeps(of: agent.id))
        sleep(UInt32(seconds))
        let (after, wakes) = (ProcessFigures(of: agent.id), ProcessFigures.sleeps(of: agent.id) - sleeps)
        try session.stop()
        let share = (after.time - before.time) / Double(seconds) * 100
        return """
            \(program.name), idle for \(seconds) s: \(after.resident) KiB resident, \(after.anonymous) of them its own, \
            \((share * 100).rounded() / 100)% of a core, \(wakes * 60 / seconds) wake-ups of its threads a minute
            """
    }
}

/// What a process costs, as the kernel counts it.
struct ProcessFigures {
    /// Time on a core, its threads' in all, in seconds.
    let time: Double
    /// Kibibytes resident.
    let resident: Int
    /// Kibibytes of these that are the process's own: heap, stacks, and what it has changed of what it maps.
    let anonymous: Int

    /// Takes them: to read what is mapped costs a millisecond, in which the process cannot grow its memory.
    init(of process: pid_t) {
        time = Self.time(of: process)
        let lines = words(of: "/proc/\(process)/smaps_rollup").split(separator: "\n")
        func kibibytes(_ name: String) -> Int {
            let line = lines.first { $0.hasPrefix(name) }
            return line.flatMap { Int($0.split(separator: " ")[1]) } ?? 0
        }
        (resident, anonymous) = (kibibytes("Rss:"), kibibytes("Anonymous:"))
    }

    /// How often the threads that a process has now have gone to sleep of themselves.
    static func sleeps(of process: pid_t) -> Int {
        (names(in: "/proc/\(process)/task") ?? []).reduce(0) { sum, thread in
            let lines = words(of: "/proc/\(process)/task/\(thread)/status").split(separator: "\n")
            let line = lines.first { $0.hasPrefix("voluntary_ctxt_switches:") }
            return sum + (line.flatMap { $0.split(separator: "\t").last.flatMap { Int($0) } } ?? 0)
        }
    }

    /// The time of a process on a core alone, in seconds, which costs next to nothing.
    static func time(of process: pid_t) -> Double {
        let status = words(of: "/proc/\(process)/stat")
        // The name, in parentheses, may hold spaces; times are the 14th and 15th field.
        let fields = status.split(separator: ")").last?.split(separator: " ") ?? []
        let ticks = fields.count > 12 ? (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0) : 0
        return Double(ticks) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
