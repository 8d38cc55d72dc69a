import CLibrary
import KiiPush
import KiiPushDelivery
import KiiPushSystem

/// One client of a ``SocketTransport``: its lines, and its pending answers.
struct SocketClient {
    static let mostAnswers = 256
    /// The most unread bytes of answers; beyond them nothing more is read from it.
    static let mostOutput = 65_536

    let descriptor: Int32
    /// Its lines that were not submitted yet, in order, at most a batch.
    private(set) var waiting: [InputLine] = []
    private(set) var answers: [DueAnswer] = []

    private(set) var lastSent = ContinuousClock.now

    private var splitter: LineSplitter
    private var lag = ReadLag()
    private var output: [UInt8] = []
    private var inputHasEnded = false
    /// Whether it no longer reads answers.
    private var isGone = false

    init(_ descriptor: Int32, limit: Int) {
        self.descriptor = descriptor
        splitter = LineSplitter(limit: limit)
    }

    // MARK: Polling

    /// Whether it has whole lines to submit, and space for their answers.
    var hasWork: Bool { !waiting.isEmpty && answers.count < Self.mostAnswers && output.count < Self.mostOutput }

    private var mayRead: Bool {
        !inputHasEnded && waiting.isEmpty && answers.count < Self.mostAnswers && output.count < Self.mostOutput
    }

    /// What to poll for, depending on whether the intake accepts payloads; a disconnected client has sent all.
    func polled(mayRead: Bool) -> pollfd {
        var events: Int16 = 0
        if mayRead, self.mayRead { events |= Int16(POLLIN) }
        if !output.isEmpty { events |= Int16(POLLOUT) }
        // The system reports a disconnected client again and again.
        return pollfd(fd: isGone && events == 0 ? -1 : descriptor, events: events, revents: 0)
    }

    /// When its next answer is known at the latest; nil if only its payload's end, or the client, decides.
    var nextDeadline: ContinuousClock.Instant? { output.count < Self.mostOutput ? answers.first?.deadline : nil }

    var isDone: Bool {
        guard inputHasEnded, waiting.isEmpty else { return false }
        return isGone || answers.isEmpty && output.isEmpty
    }

    /// Whether nothing of it is unanswered; a line that it has not finished may never end.
    var isIdle: Bool { waiting.isEmpty && answers.isEmpty && output.isEmpty }

    // MARK: Reading

    mutating func note(_ polled: pollfd, _ start: ContinuousClock.Instant, _ end: ContinuousClock.Instant) {
        if polled.events & Int16(POLLIN) == 0 { return lag.stopped() }
        lag.polled(start, end, isReady: polled.revents & Int16(POLLIN) != 0)
    }

    mutating func note(_ events: Int16) {
        if events & Int16(POLLHUP | POLLERR | POLLNVAL) != 0 { leave() }
    }

    /// Records its polled events, and reads once if there is something.
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

    /// It no longer reads answers; its lines are still submitted.
    private mutating func leave() {
        isGone = true
        output = []
    }

    /// Takes whole lines out of the bytes read, at most a batch.
    private mutating func gather() {
        while waiting.count < BatchedIntake.largestBatch {
            guard let line = splitter.next() ?? (inputHasEnded ? splitter.finish() : nil) else { return }
            waiting.append(line)
        }
    }

    // MARK: Submitting

    /// The first waiting payloads, as many as may be answered.
    func nextPayloads(_ transport: Transport?) -> [RawPayload] {
        let isBehind = lag.isBehind(.now)
        var payloads: [RawPayload] = []
        for line in waiting.prefix(Self.mostAnswers - answers.count) {
            guard case .bytes(let bytes, _) = line else { break }
            payloads.append(RawPayload(bytes, transport: transport, hasWaited: isBehind))
        }
        return payloads
    }

    mutating func answerFirst(_ answers: [DueAnswer]) {
        waiting.removeFirst(answers.count)
        self.answers += answers
        gather()
    }

    /// Answers the first lines if they are overlong; returns their numbers.
    mutating func refuseTooLong() -> [Int] {
        var numbers: [Int] = []
        while answers.count < Self.mostAnswers, case .tooLong(let number)? = waiting.first {
            numbers.append(number)
            answerFirst([DueAnswer(SocketAnswer.tooLong)])
        }
        return numbers
    }

    /// Answers all remaining lines, which are not submitted any more.
    mutating func refuseRest() {
        inputHasEnded = true
        gather()
        while !waiting.isEmpty { answerFirst(waiting.map { _ in DueAnswer(SocketAnswer.stopping) }) }
    }

    // MARK: Answering

    /// Moves the known answers, up to the first unknown one, to the output.
    mutating func settle(at now: ContinuousClock.Instant, stoppingBy end: ContinuousClock.Instant? = nil) {
        var count = 0
        for answer in answers {
            guard output.count < Self.mostOutput, let text = answer.text(at: now, stoppingBy: end) else { break }
            // A disconnected client reads no answers.
            if !isGone { output += text.utf8 }
            count += 1
        }
        answers.removeFirst(count)
    }

    /// Sends as much of its answers as it accepts.
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

/// The answer of a ``SocketTransport`` to a line: one JSON object on one line.
enum SocketAnswer {
    /// The payload's outcome, and what its handlers have answered.
    static func ended(_ outcome: Outcome, _ answer: Answer? = nil) -> String {
        line(outcome.name, outcome.disposition, outcome.reason.map(Suggestion.shown), answer)
    }

    /// The payload has not ended: it is on disk, and will be handled, or the service stopped before.
    static func unended(_ isStored: Bool) -> String { isStored ? line("stored", .accept) : line("left", .retryLater) }

    static let tooLong = line("undecodable", .reject, DecodeError.Code.limitExceeded.rawValue)
    static let tooManyClients = line("notTaken", .retryLater, "tooManyClients")
    static let notAllowed = line("notTaken", .reject, "notAllowed")
    static let stopping = line("notTaken", .retryLater, "stopping")
    static let inboxFailed = line("notTaken", .retryLater, "inboxFailed")

    private static func line(
        _ outcome: String, _ disposition: Disposition, _ reason: String? = nil, _ answer: Answer? = nil
    ) -> String {
        JSONWriter.object { writer in
            writer.member("outcome", outcome)
            writer.member("disposition", disposition.rawValue)
            if let reason { writer.member("reason", reason) }
            if let data = answer?.data { writer.member("answer", value: data) }
            if let answer, answer.status != .succeeded { writer.member("error", answer.words) }
        } + "\n"
    }
}

/// The answer to a line, which may have to wait for earlier ones, or for its payload's end.
struct DueAnswer {
    private enum Known: Sendable, Equatable {
        case text(String)
        case ended(Outcome, Answer?)
        /// The service stopped before the payload's end.
        case left
    }

    /// What is known of the answer; set by the task that ended the payload, which must not wait for the text of it.
    private let known = Current<Known>()
    private let isStored: Bool
    /// When it is known at the latest; nil if only the payload's end decides.
    let deadline: ContinuousClock.Instant?

    init(_ text: String) {
        (isStored, deadline) = (false, nil)
        known.set(.text(text))
    }

    /// The answer for an accepted payload; after the deadline a stored one need not have ended.
    init(_ receipt: Receipt, deadline: ContinuousClock.Instant, _ signal: ThreadSignal) {
        (isStored, self.deadline) = (receipt.isStored, receipt.isStored ? deadline : nil)
        receipt.onEnd { [known, weak receipt] outcome in
            known.set(outcome.map { .ended($0, receipt?.answer) } ?? .left)
            signal.raise()
        }
    }

    /// The answer at this time; nil if it must wait, though not beyond `end` while the transport stops.
    func text(at now: ContinuousClock.Instant, stoppingBy end: ContinuousClock.Instant?) -> String? {
        switch known.value {
        case .text(let text)?: return text
        case .ended(let outcome, let answer)?: return SocketAnswer.ended(outcome, answer)
        case .left?: return SocketAnswer.unended(isStored)
        case nil:
            let isDue = deadline.map { now >= $0 } == true || end.map { now >= $0 } == true
            return isDue ? SocketAnswer.unended(isStored) : nil
        }
    }
}
