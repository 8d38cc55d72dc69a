import Glibc
import KiiPush

/// One client of a ``SocketTransport``: what it has sent, and what it is yet to be answered.
struct SocketClient {
    /// How many of its payloads may be unanswered.
    static let mostAnswers = 256
    /// How many bytes of answers may lie here for it to read; then no more is read from it.
    static let mostOutput = 65_536

    let descriptor: Int32
    /// Its lines that were not handed over yet, in order, at most a batch.
    private(set) var waiting: [InputLine] = []
    /// Its answers in the order of its lines.
    private(set) var answers: [DueAnswer] = []

    /// When it sent something last.
    private(set) var lastSent = ContinuousClock.now

    private var splitter: LineSplitter
    private var lag = ReadLag()
    private var output: [UInt8] = []
    /// Whether it sends no more.
    private var inputHasEnded = false
    /// Whether it reads no more answers.
    private var isGone = false
    /// Whether the first of its lines that are too long was told of.
    private var hasToldOfTooLong = false

    init(_ descriptor: Int32, limit: Int) {
        self.descriptor = descriptor
        splitter = LineSplitter(limit: limit)
    }

    // MARK: What to wait for

    /// Whether it has whole lines to hand over, and room for their answers.
    var hasWork: Bool { !waiting.isEmpty && answers.count < Self.mostAnswers && output.count < Self.mostOutput }

    private var mayRead: Bool {
        !inputHasEnded && waiting.isEmpty && answers.count < Self.mostAnswers && output.count < Self.mostOutput
    }

    /// What to wait for, if the intake takes payloads or not; one that is gone has no more to tell than what it has
    /// sent.
    func polled(mayRead: Bool) -> pollfd {
        var events: Int16 = 0
        if mayRead, self.mayRead { events |= Int16(POLLIN) }
        if !output.isEmpty { events |= Int16(POLLOUT) }
        // The system always tells of a client that is gone, and again and again.
        return pollfd(fd: isGone && events == 0 ? -1 : descriptor, events: events, revents: 0)
    }

    /// When its next answer is known at the latest; nil when that is its payload's business, or its own.
    var nextDeadline: ContinuousClock.Instant? { output.count < Self.mostOutput ? answers.first?.deadline : nil }

    /// Whether there is nothing left to do for it.
    var isDone: Bool {
        guard inputHasEnded, waiting.isEmpty else { return false }
        return isGone || answers.isEmpty && output.isEmpty
    }

    /// Whether nothing of it is on its way.
    var isIdle: Bool { waiting.isEmpty && answers.isEmpty && output.isEmpty && !splitter.hasPartialLine }

    // MARK: Reading

    /// Takes down a poll from `start` to `end`.
    mutating func note(_ polled: pollfd, _ start: ContinuousClock.Instant, _ end: ContinuousClock.Instant) {
        if polled.events & Int16(POLLIN) == 0 { return lag.stopped() }
        lag.polled(start, end, isReady: polled.revents & Int16(POLLIN) != 0)
    }

    /// Takes down what the system told of it.
    mutating func note(_ events: Int16) {
        if events & Int16(POLLHUP | POLLERR | POLLNVAL) != 0 { leave() }
    }

    /// Takes down what the system told of it, and reads once if there is something.
    mutating func read(_ events: Int16, _ buffer: inout [UInt8]) {
        note(events)
        guard events & Int16(POLLIN) != 0, mayRead else { return }
        let count = readOnce(descriptor, into: &buffer)
        if count > 0 {
            lastSent = .now
            splitter.append(buffer[..<count])
        } else if count == 0 {
            inputHasEnded = true
        } else if errno != EAGAIN {
            inputHasEnded = true
            leave()
        }
        gather()
    }

    /// It reads no more answers; what it has sent is handed over all the same.
    private mutating func leave() {
        isGone = true
        output = []
    }

    /// Takes whole lines out of what was read, at most a batch.
    private mutating func gather() {
        while waiting.count < BatchedIntake.largestBatch {
            guard let line = splitter.next() ?? (inputHasEnded ? splitter.finish() : nil) else { return }
            waiting.append(line)
        }
    }

    // MARK: Handing over

    /// The payloads at the front of what waits, as many as may be answered.
    func nextPayloads(_ transport: Transport?) -> [RawPayload] {
        guard !waiting.isEmpty else { return [] }
        let isBehind = lag.isBehind(.now)
        return waiting.prefix(Self.mostAnswers - answers.count).prefix { line in
            if case .bytes = line { true } else { false }
        }.compactMap { line in
            guard case .bytes(let bytes, _) = line else { return nil }
            return RawPayload(bytes, transport: transport, hasWaited: isBehind)
        }
    }

    /// The line at the front is answered so.
    mutating func answerFirst(_ answers: [DueAnswer]) {
        waiting.removeFirst(answers.count)
        self.answers += answers
        gather()
    }

    /// Answers the lines at the front that are too long; the number of the first one there ever was, once.
    mutating func refuseTooLong() -> Int? {
        var first: Int?
        while answers.count < Self.mostAnswers, case .tooLong(let number)? = waiting.first {
            if !hasToldOfTooLong { first = number }
            hasToldOfTooLong = true
            answerFirst([.known(SocketAnswer.tooLong)])
        }
        return first
    }

    /// Answers all that was read and is not handed over any more.
    mutating func refuseRest() {
        inputHasEnded = true
        gather()
        while !waiting.isEmpty { answerFirst(waiting.map { _ in .known(SocketAnswer.stopping) }) }
    }

    // MARK: Answering

    /// Puts the answers that are known, up to the first that is not, where they are sent from.
    mutating func settle(at now: ContinuousClock.Instant, stoppingBy end: ContinuousClock.Instant? = nil) {
        var count = 0
        for answer in answers {
            guard output.count < Self.mostOutput, let text = answer.text(at: now, stoppingBy: end) else { break }
            // Nobody reads the answers of one that is gone.
            if !isGone { output += text.utf8 }
            count += 1
        }
        answers.removeFirst(count)
    }

    /// Sends what it takes of its answers.
    mutating func write() {
        guard !output.isEmpty else { return }
        let count = unsafe output.withUnsafeBytes { bytes in
            retrying { unsafe send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
        }
        if count > 0 {
            output.removeFirst(count)
        } else if count < 0, errno != EAGAIN {
            leave()
        }
    }
}
