import Glibc
import KiiPush
import KiiPushDelivery
import Synchronization

/// A kill that is planted in this program's own agent: the n-th time that it comes to a point.
final class Deaths: Sendable {
    enum Point: String, CaseIterable {
        case beforeCommit = "before-commit"
        case afterCommit = "after-commit"
        case afterAcknowledgement = "after-acknowledgement"
        case beforeBegun = "before-begun"
        case inHandler = "in-handler"
        case afterHandler = "after-handler"
        case beforeAnswer = "before-answer"
        case afterAnswer = "after-answer"
        case beforeEnded = "before-ended"
        case afterEnded = "after-ended"
        /// When the broker has confirmed an answer, and that is not recorded.
        case beforeAnswered = "before-answered"
        case afterAnswered = "after-answered"
        case beforeLetter = "before-letter"
        case afterLetter = "after-letter"
        /// Before the end of a message is recorded that has been dead-lettered, while others are written.
        case beforeLetterEnded = "before-letter-ended"

        /// Whether only messages that are answered come there.
        var isOfAnswers: Bool {
            [.beforeAnswer, .afterAnswer, .beforeAnswered, .afterAnswered].contains(self)
        }

        /// Whether only messages that fail come there.
        var isOfLetters: Bool { [.beforeLetter, .afterLetter, .beforeLetterEnded].contains(self) }
    }

    private let point: Point?
    private let count: Int
    private let passed = Atomic<Int>(0)
    /// The payloads that have been dead-lettered.
    private let lettered = Mutex<Set<UInt64>>([])

    /// Plants a kill, written as `before-commit:3`; none where there is no text.
    init(_ text: String?) throws {
        guard let text else {
            (point, count) = (nil, 0)
            return
        }
        let words = text.split(separator: ":")
        guard words.count == 2, let point = Point(rawValue: String(words[0])), let count = Int(words[1]) else {
            throw Trouble("\(text) is no point to die at, such as before-commit:3")
        }
        (self.point, self.count) = (point, count)
    }

    /// Kills the process, if this is the point and the time.
    func pass(_ point: Point) {
        if isTime(at: point) { die() }
    }

    private func isTime(at point: Point) -> Bool {
        point == self.point && passed.add(1, ordering: .relaxed).newValue == count
    }

    /// Remembers that a payload has been dead-lettered.
    func dead(_ payload: UInt64?) { if let payload { lettered.withLock { _ = $0.insert(payload) } } }

    /// Kills the process before the end of a dead-lettered payload is recorded, if this is the time; what other
    /// messages write meanwhile goes to disk first.
    func end(_ payload: UInt64) async {
        guard lettered.withLock({ $0.contains(payload) }), isTime(at: .beforeLetterEnded) else { return }
        try? await Task.sleep(for: .milliseconds(100))
        die()
    }

    /// Kills the process when so many messages have been acknowledged.
    func acknowledged(_ number: Int) {
        if point == .afterAcknowledgement, number >= count { die() }
    }

    /// Whether somebody has to look how many messages have been acknowledged.
    var countsAcknowledgements: Bool { point == .afterAcknowledgement }

    private func die() {
        kill(getpid(), SIGKILL)
        pause()
    }
}

/// An inbox in which the process dies.
struct DeadlyInbox: Inbox {
    let inbox: any Inbox
    let deaths: Deaths

    var isDurable: Bool { inbox.isDurable }

    func add(_ payloads: [RawPayload]) throws -> [UInt64] {
        deaths.pass(.beforeCommit)
        let numbers = try inbox.add(payloads)
        deaths.pass(.afterCommit)
        return numbers
    }

    func record(_ records: [InboxRecord]) async throws {
        for record in records {
            if case .begun = record { deaths.pass(.beforeBegun) }
            if case .answer = record { deaths.pass(.beforeAnswer) }
            if case .answered = record { deaths.pass(.beforeAnswered) }
            if case .ended(let payload) = record {
                deaths.pass(.beforeEnded)
                await deaths.end(payload)
            }
        }
        try await inbox.record(records)
        for record in records {
            switch record {
            case .ended: deaths.pass(.afterEnded)
            case .answer: deaths.pass(.afterAnswer)
            case .answered: deaths.pass(.afterAnswered)
            default: break
            }
        }
    }

    func answers(of sender: String, limit: Int) throws -> [UnsentAnswer] {
        try inbox.answers(of: sender, limit: limit)
    }

    func entries(after id: UInt64, limit: Int) throws -> [InboxEntry] {
        try inbox.entries(after: id, limit: limit)
    }

    func entries(of ids: [UInt64]) throws -> [InboxEntry] { try inbox.entries(of: ids) }
}

/// A dead-letter store in which the process dies.
struct DeadlyLetters: DeadLetterStore {
    let store: any DeadLetterStore
    let deaths: Deaths

    var isDurable: Bool { store.isDurable }

    func add(_ letter: DeadLetter) throws -> UInt64 {
        deaths.pass(.beforeLetter)
        let number = try store.add(letter)
        deaths.dead(letter.inboxID)
        deaths.pass(.afterLetter)
        return number
    }

    func letters() throws -> [DeadLetter] { try store.letters() }
    func remove(_ id: UInt64) throws -> Bool { try store.remove(id) }
    var count: Int { get throws { try store.count } }
}
