import Glibc
import KiiPushDelivery

/// One agent over all its processes: its session at the broker, its state directory, and the books.
final class Session {
    let broker: Broker
    let topic: String
    let folder: Folder
    let state: String
    let concurrency: Int
    let program: Program
    let publisher: Publisher
    /// Where the agent finds the broker; another port than the broker's for a link that can be cut.
    let port: Int
    /// What is planted in each of the agent's processes.
    var options: [String] = []
    /// The program that the agent is started by, with its arguments; none for itself.
    var prefix: [String] = []
    /// Where the tool's payloads come from, as it is told; nil for the broker.
    var source: [String]?
    /// The rules of the tool; nil for those that print each message.
    var rules: String?
    /// What the agent proves itself with, over TLS; nil for neither.
    let security: Security?
    /// Where the agent's processes write what they say; what becomes of it is to end in ``log``.
    var errors: String
    /// The messages fail whose number is a multiple of it.
    var failing: Int?
    private(set) var book: Book
    /// How many processes there were, and which of them were killed.
    private(set) var runs = 0
    private(set) var killed: Set<Int> = []
    /// What was found wrong.
    var broken: [String] = []

    private let start = ContinuousClock.now
    private var agent: Child?

    init(
        _ broker: Broker, _ topic: String, program: Program = .own, concurrency: Int = 8, port: Int? = nil,
        security: Security? = nil
    ) throws {
        self.broker = broker
        self.security = security
        self.port = port ?? broker.port
        self.topic = topic
        self.program = program
        self.concurrency = concurrency
        folder = try Folder()
        state = "\(folder.path)/state"
        errors = "\(folder.path)/log"
        book = Book(path: "\(folder.path)/book")
        publisher = Publisher(port: broker.port, topic: topic)
    }

    deinit { publisher.stop() }

    /// What the agent's processes have said.
    var log: String { words(of: "\(folder.path)/log") }

    /// The end of what they have said; of a crash, where it was.
    private var lastWords: Substring {
        let log = log
        guard let crash = log.ranges(of: "*** Program crashed").last else { return log.suffix(400) }
        return log[crash.lowerBound...].prefix(4000)
    }

    /// How often the agent's processes have connected.
    var connections: Int { log.ranges(of: "QoS 1 granted").count }

    // MARK: Processes

    /// Starts the agent, or a program that starts it.
    @discardableResult
    func run(_ faults: [String] = []) throws -> Child {
        runs += 1
        let command = try prefix + program.command(self, options + faults)
        let output = if case .tool = program { book.path } else { "/dev/null" }
        let agent = try Child(command, output: output, errors: errors)
        self.agent = agent
        return agent
    }

    /// Runs the agent until the broker knows its session, so that what is published from now on is kept for it.
    func subscribe() throws {
        let agent = try run()
        try wait(for: "the agent is connected", within: .seconds(20)) {
            guard agent.isRunning else { throw Trouble("the agent ended: \(log)") }
            return log.contains("QoS 1 granted")
        }
        try stop()
    }

    /// Kills the agent, and checks what it leaves.
    ///
    /// - Parameter words: what it may have said last where it has ended by itself with exit code 1.
    /// - Throws: when it does not end.
    func kill(orEndedSaying words: String? = nil) throws {
        if let agent, !agent.isRunning, agent.end == .exited(1), let words, log.suffix(400).contains(words) {
            return try lookBack()
        }
        agent?.send(SIGKILL)
        try expectKilled()
    }

    /// Waits until the agent has been killed, and checks what it leaves.
    func expectKilled() throws {
        guard let agent else { return }
        let end = try agent.wait()
        if end != .killed(SIGKILL) { broken.append("run \(runs) ended by itself: \(end)\n\(lastWords)") }
        killed.insert(runs)
        try lookBack()
    }

    /// Has the agent stop, and checks that it does.
    func stop(within limit: Duration = .seconds(20)) throws {
        guard let agent else { return }
        // Until it has set itself up, SIGTERM ends it as it ends every program.
        try wait(for: "the agent minds SIGTERM", within: limit) { agent.catches(SIGTERM) || !agent.isRunning }
        agent.send(SIGTERM)
        let end: Child.End
        do { end = try agent.wait(within: limit) } catch { throw Trouble("\(error)\n\(lastWords)") }
        if end != .exited(0) { broken.append("run \(runs) should end with exit code 0: \(end)\n\(lastWords)") }
        try lookBack()
    }

    /// The agent's process; nil where none runs.
    var process: pid_t? { agent?.id }

    /// Whether the agent runs.
    var isRunning: Bool { agent?.isRunning ?? false }

    func send(_ signal: Int32) { agent?.send(signal) }

    private func lookBack() throws {
        agent = nil
        try book.read(run: runs)
        do { _ = try Database.check(state, in: folder.path) } catch { broken.append("run \(runs): \(error)") }
    }

    // MARK: Books

    /// Reads what has been handled so far, and says how many messages that is.
    func handled() throws -> Int {
        try book.read(run: runs)
        return book.distinct.count
    }

    /// Lets the agent handle what is left, stops it, and closes the books.
    func finish(_ fault: String, within limit: Duration = .seconds(60)) throws -> Row {
        try publisher.settle()
        if !isRunning { try run() }
        let count = publisher.acknowledged
        do {
            try wait(for: "all \(count) are handled", within: limit) {
                if !isRunning { throw Trouble("the agent ended: \(lastWords)") }
                if try handled() == count { return true }
                usleep(20_000)
                let database = try Database.look(state)
                return missing(database).count <= database.folded
            }
            // What waits is noted as ended only after it was handled.
            try wait(for: "the inbox is empty", within: limit) {
                usleep(5000)
                return try Database.look(state).waiting == 0
            }
        } catch { broken.append("\(error)") }
        try stop()
        return try close(fault)
    }

    /// The messages that were not handled and whose payloads no letter has.
    private func missing(_ database: Database) -> Set<Int> {
        Set(1..<publisher.acknowledged + 1).subtracting(book.distinct).subtracting(database.letters.map(\.number))
    }

    /// Compares what is missing with how many messages the letters say that they stand for; how many are lost.
    private func countMissing(_ database: Database) -> Int {
        let missing = missing(database)
        // A message that does not fail is dead-lettered only where it seems to end the process, before or after it was
        // handled.
        let unfailing = missing.filter { number in failing.map { number % $0 != 0 } ?? true }
        let lost = max(missing.count - database.folded, unfailing.count - database.quarantined, 0)
        if lost > 0 {
            let suspects = unfailing.count > database.quarantined ? unfailing : missing
            broken.append("\(lost) lost, of: \(suspects.sorted().prefix(10))")
        }
        let tooMany = database.folded - database.quarantined - missing.count
        if tooMany > 0 { broken.append("\(tooMany) messages are counted twice by dead letters") }
        return lost
    }

    private func close(_ fault: String) throws -> Row {
        let database = try Database.check(state, in: folder.path)
        let letters = Set(database.letters.map(\.number))
        let (again, inOneRun) = book.again()
        let lost = countMissing(database)
        if database.waiting > 0 { broken.append("\(database.waiting) are still in the inbox") }
        // Putting a message aside and ending it are one write.
        let copies = database.letters.count - letters.count
        if copies > 0 { broken.append("\(copies) dead letters are there twice, after \(killed.count) kills") }
        if !inOneRun.isEmpty { broken.append("handled twice by one process: \(inOneRun.prefix(10))") }
        for (run, count) in again {
            if !killed.contains(run) { broken.append("\(count) handled again that run \(run) had ended, unkilled") }
            let inFlight = max(ServiceSettings.standard.inFlight, concurrency)
            if count > inFlight {
                broken.append("\(count) handled again of run \(run), beyond the \(inFlight) in flight")
            }
        }
        let outOfOrder = book.outOfOrder
        if !outOfOrder.isEmpty { broken.append("out of order: \(outOfOrder.prefix(10))") }
        var row = Row(fault: fault)
        row.runs = killed.count
        row.messages = publisher.acknowledged
        row.lost = lost
        row.twice = again.values.reduce(0, +) + inOneRun.count
        row.letters = letters.count
        row.seconds = start.duration(to: .now) / .seconds(1)
        row.broken = broken
        return row
    }
}
