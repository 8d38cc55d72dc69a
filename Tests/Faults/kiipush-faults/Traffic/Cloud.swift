import Glibc
import Synchronization

/// Whether the program has been asked to stop; each row then ends as if something had failed.
let isInterrupted = Atomic<Bool>(false)

/// Plays the cloud against one agent.
///
/// It sends at given times or as fast as the agent takes it, and reads what the agent answers and prints. It belongs to
/// one thread.
final class Cloud {
    /// A push that was sent.
    struct Sent {
        let stream: Stream
        let push: Push
        let link: Int
        /// When it was to be sent, and when it was.
        let due: Double
        let put: Double
        var answered: Double?
        var handled: Double?
    }

    let agent: TrafficAgent
    /// Called with each tracked push when it was handled the first time.
    var onHandled: (Sent) -> Void = { _ in }
    private var links: [any Link] = []
    /// What fills a link up whenever there is room.
    private var sources: [Int: () -> (stream: Stream, push: Push)?] = [:]
    private var schedule = Schedule()
    private var pushes: [Int64: Sent] = [:]
    private var lastTime: Int64 = 0
    private var printed = Lines()
    private let start = ContinuousClock.now

    init(tool: String, source: TrafficAgent.Source = .socket, links: Int = 1) throws {
        agent = try TrafficAgent(tool: tool, source: source)
        try startAgent(links: links)
    }

    /// Seconds since the beginning.
    var now: Double { start.duration(to: .now) / .seconds(1) }

    /// Starts the agent, again if there was one, with new connections.
    func startAgent(links count: Int) throws {
        (links, sources) = ([], [:])
        schedule.removeAll()
        try agent.start()
        for _ in 0..<count { links.append(try agent.connect()) }
    }

    // MARK: Sending

    /// Does something at a time.
    func at(_ time: Double, _ action: @escaping () -> Void) { schedule.add(time, action) }

    /// Sends a push now, and keeps a book of it if its stream has one.
    @discardableResult
    func send(_ push: Push, of stream: Stream, due: Double? = nil, link: Int = 0) -> Int64 {
        // No two pushes have the same time, also where several are sent in a millisecond.
        var clock = timespec()
        clock_gettime(CLOCK_REALTIME, &clock)
        let time = max(lastTime + 1, Int64(clock.tv_sec) * 1000 + Int64(clock.tv_nsec) / 1_000_000 - stream.lag)
        lastTime = time
        stream.sent += 1
        if stream.isTracked {
            pushes[time] = Sent(stream: stream, push: push, link: link, due: due ?? now, put: now)
        }
        links[link].send(push.payload(at: time), time)
        return time
    }

    /// Sends as fast as the agent takes it, until there is no more.
    func flood(link: Int, _ next: @escaping () -> (stream: Stream, push: Push)?) { sources[link] = next }

    /// Ends all floods.
    func endFloods() { sources = [:] }

    /// What has come of a push.
    func sent(_ time: Int64) -> Sent? { pushes[time] }

    // MARK: Time

    /// Lets time pass until it is over, or something holds.
    func run(until end: Double, _ isOver: () -> Bool = { false }) throws {
        var turns = 0
        while now < end, !isOver() {
            if isInterrupted.load(ordering: .relaxed) { throw Trouble("interrupted") }
            turns += 1
            if turns % 64 == 0, !agent.isRunning { throw Trouble("the agent ended: \(agent.log.suffix(400))") }
            turn(until: end)
        }
    }

    private func turn(until end: Double) {
        while let action = schedule.pop(at: now) { action() }
        for (link, next) in sources {
            while links[link].queued < 8192 {
                guard let (stream, push) = next() else {
                    sources[link] = nil
                    break
                }
                send(push, of: stream, link: link)
            }
        }
        for link in links { link.write() }
        poll(for: min(end, schedule.next ?? end) - now)
    }

    private func poll(for seconds: Double) {
        var polled = [pollfd(fd: agent.output, events: Int16(POLLIN), revents: 0)]
        polled += links.map { link in
            let events = POLLIN | (link.queued > 0 ? POLLOUT : 0)
            return pollfd(fd: link.isClosed ? -1 : link.descriptor, events: Int16(events), revents: 0)
        }
        let milliseconds = (min(max(seconds, 0), 0.05) * 1000).rounded(.up)
        guard Glibc.poll(&polled, nfds_t(polled.count), Int32(milliseconds)) > 0 else { return }
        if polled[0].revents != 0 { readOutput() }
        for (index, link) in links.enumerated() where polled[index + 1].revents != 0 {
            link.read { note($1, $0, index) }
        }
    }

    // MARK: What the agent says

    private func readOutput() {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = read(agent.output, &bytes, bytes.count)
        guard count > 0 else { return }
        let now = now
        printed.take(bytes[..<count]) { line in
            if let time = Push.time(in: line) { noteHandled(time, now) }
        }
    }

    private func noteHandled(_ time: Int64, _ now: Double) {
        guard var sent = pushes[time] else { return }
        guard sent.handled == nil else {
            sent.stream.twice += 1
            return
        }
        sent.handled = now
        pushes[time] = sent
        sent.stream.noteHandled(time, due: sent.due, at: now)
        onHandled(sent)
    }

    private func note(_ answer: Answer, _ time: Int64, _ link: Int) {
        guard let sent = pushes[time] else { return }
        sent.stream.answers[answer.outcome, default: 0] += 1
        pushes[time]?.answered = now
        // As a client should that is told to try later: the same push once more.
        guard answer.isRefusal else { return }
        sent.stream.refused += 1
        at(now + 1) { [unowned self] in links[link].send(sent.push.payload(at: time), time) }
    }

    // MARK: The agent

    /// Runs a command of the tool on the agent's state; its lines, or nil when it does not succeed in time.
    func command(_ arguments: [String], within limit: Double = 15) throws -> [Substring]? {
        let (child, output) = try agent.command(arguments)
        try run(until: now + limit) { !child.isRunning }
        guard child.end == .exited(0) else { return nil }
        return words(of: output).split(separator: "\n")
    }

    /// How many dead letters there are, and of how many messages: one letter may stand for several.
    func letters() throws -> (count: Int, messages: Int)? {
        try command(["dead-letters", "list", "--format", "json"]).map { letters in
            (letters.count, letters.reduce(0) { $0 + Self.messages(in: $1) })
        }
    }

    private static func messages(in letter: Substring) -> Int {
        for key in ["\"messages\":", "\"count\":"] {
            guard let range = letter.ranges(of: key).first else { continue }
            if let count = Int(letter[range.upperBound...].prefix { $0.isNumber }) { return count }
        }
        return 1
    }

    /// Asks the agent to stop; how it ended, or nil when it had to be killed, and how long that took.
    func stop(within limit: Double = 20) throws -> (end: Child.End?, seconds: Double) {
        let begin = now
        agent.send(SIGTERM)
        while now < begin + limit, agent.isRunning { turn(until: begin + limit) }
        let seconds = now - begin
        guard !agent.isRunning else {
            try agent.kill()
            return (nil, seconds)
        }
        return (agent.end, seconds)
    }
}
