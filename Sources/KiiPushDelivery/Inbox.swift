public import KiiPush
import Synchronization

/// Keeps payloads from their acceptance to their end, so that a crash loses none.
///
/// A ``PushService`` owns one. Guarantees to it, besides those of the methods:
/// - Numbers increase from 1 and are never reused, not even by another process on the same file.
/// - Ended payloads are removed. A record of a payload that does not exist changes nothing.
/// - A payload keeps all that it has but `RawPayload.hasWaited`; an answer is kept whole, as `Answer.jsonText`.
/// - An answer is kept from its record until ``InboxRecord/answered(_:)``, over restarts, and counts towards the
///   inbox's bounds. Of two answers of one payload, the first counts.
/// - Payloads of one process are returned with the same intervals between their arrivals, by which equal ones are
///   distinguished.
///
/// To test an inbox of yours, run `InboxContract` from KiiPushContracts; it checks those that can be seen from outside.
public protocol Inbox: Sendable {
    /// Whether its payloads survive a crash and a loss of power.
    var isDurable: Bool { get }

    /// Keeps payloads, all or none, in one step, and returns their numbers in the same order; in a durable inbox they
    /// are on disk then.
    ///
    /// It may wait for the disk, so a transport calls it from a thread of its own or with a few payloads at a time.
    ///
    /// - Throws: if they cannot be kept; then none is.
    func add(_ payloads: [RawPayload]) throws -> [UInt64]

    /// Records the progress of payloads, in this order, all or nothing; when it has returned, the records are kept, on
    /// disk in a durable inbox.
    ///
    /// Only the beginning of an attempt, of a payload that this process has added, may be lost with the power, not with
    /// the process. Records for one payload keep their order. Many tasks may wait at once, and share a write; a service
    /// records the end of one message together with the beginning of the next, so that both cost one write.
    ///
    /// - Throws: if they cannot be written; then none is, and the service records all of them again.
    func record(_ records: [InboxRecord]) async throws

    /// The first payloads that an earlier process added and did not end, byte for byte, whose number is greater than
    /// `id`, at most `limit`, oldest first; none if there are no more.
    ///
    /// A service reads all pages before it adds anything. With 0 for `id`, for the first page, one crash is added to
    /// each payload that was in flight when that process ended.
    ///
    /// - Throws: when they cannot be read.
    func entries(after id: UInt64, limit: Int) throws -> [InboxEntry]

    /// Reads payloads again, byte for byte, that this process or an earlier one has added, with their records; changes
    /// nothing.
    ///
    /// A service calls it for payloads that wait on disk and not in memory, so an inbox that is not durable may return
    /// none.
    ///
    /// - Parameter ids: the numbers, in any order, each once.
    /// - Returns: an entry for each payload that has not ended, in the order of `ids`.
    /// - Throws: when they cannot be read.
    func entries(of ids: [UInt64]) throws -> [InboxEntry]

    /// At most `limit` answers of ended payloads that a sender has yet to deliver, by the sender's name, oldest payload
    /// first.
    ///
    /// - Throws: when they cannot be read.
    func answers(of sender: String, limit: Int) throws -> [UnsentAnswer]

    /// Whether ``add(_:)`` would keep a small payload now, for health checks; it changes nothing.
    ///
    /// By default it does nothing. An inbox on a disk writes something: a read-only or full one fails no other call.
    ///
    /// - Throws: what `add` would throw.
    func check() throws
}

extension Inbox {
    /// Does nothing: an inbox works unless it says otherwise.
    public func check() throws {}

    /// All payloads of an earlier process, oldest first: for the contract of inboxes, and for tests.
    package func entries() throws -> [InboxEntry] {
        var (all, last) = ([InboxEntry](), UInt64(0))
        while true {
            let page = try entries(after: last, limit: 256)
            all += page
            guard let end = page.last?.id, end > last else { return all }
            last = end
        }
    }

    /// Records the progress of one payload: for the contract of inboxes, and for tests.
    package func record(_ record: InboxRecord) async throws { try await self.record([record]) }
}

/// A step of a payload, as an inbox records it.
@nonexhaustive
public enum InboxRecord: Sendable, Hashable {
    /// Its handlers are about to run, for the `attempt`-th time; it is in flight from now on.
    case begun(UInt64, attempt: Int)
    /// The attempt is over and the message has not ended; these routes have handled it, in this or an earlier attempt,
    /// and some of them have answered it: their answers in the same order, with nil for the others; empty if none has.
    case failed(UInt64, handled: [String], answers: [Answer?] = [])
    /// It is about to end, and its sender is to get this answer.
    case answer(UnsentAnswer)
    /// It has ended, and is removed from the inbox.
    case ended(UInt64)
    /// The answer of an ended payload was delivered, or can never be.
    case answered(UInt64)

    /// The payload's number.
    public var id: UInt64 {
        switch self {
        case .begun(let id, _), .failed(let id, _, _), .ended(let id), .answered(let id): id
        case .answer(let answer): answer.id
        }
    }
}

/// A payload that an earlier process accepted and did not end.
public struct InboxEntry: Sendable, Hashable {
    /// Its number in the inbox.
    public let id: UInt64
    /// The payload as received; its arrival is converted to this process's clock, if the inbox can.
    public let payload: RawPayload
    /// How many times its handlers were run.
    public let attempts: Int
    /// The routes whose handlers have succeeded.
    public let handled: [String]
    /// What these have answered, in the same order, with nil for one that has not; may be empty if none has.
    public let answers: [Answer?]
    /// How many times a process ended while it was in flight.
    public let crashes: Int
    /// Whether it was the only one in flight at its last crash, and so the cause.
    public let crashedAlone: Bool
    /// Whether it was in flight at a crash, and no attempt has failed since: the next one runs alone.
    ///
    /// An inbox that does not know says so of each payload with a crash.
    package var isSuspect: Bool

    /// Makes an entry; for inboxes.
    public init(
        id: UInt64, payload: RawPayload, attempts: Int = 0, handled: [String] = [],
        answers: [Answer?] = [], crashes: Int = 0, crashedAlone: Bool = false
    ) {
        self.id = id
        self.payload = payload
        self.attempts = attempts
        self.handled = handled
        self.answers = answers
        self.crashes = crashes
        self.crashedAlone = crashedAlone
        isSuspect = crashes > 0
    }
}

/// An inbox in memory, which lasts as long as the process: after that, senders must deliver unfinished payloads again.
///
/// The service itself keeps the payloads in memory, so the inbox only counts, and keeps up to 1,000 answers that were
/// not delivered yet; beyond that it forgets the oldest. Use it for transports that acknowledge a payload when it has
/// ended.
public final class InMemoryInbox: Inbox {
    private let last = Atomic<UInt64>(0)
    private let answers = Mutex<[UnsentAnswer]>([])

    private static let mostAnswers = 1000

    /// Makes an empty inbox.
    public init() {}

    /// False: a crash loses its payloads.
    public var isDurable: Bool { false }

    /// Numbers the payloads.
    public func add(_ payloads: [RawPayload]) -> [UInt64] {
        let count = UInt64(payloads.count)
        let end = last.add(count, ordering: .relaxed).newValue
        return Array(end - count + 1..<end + 1)
    }

    /// Keeps and forgets answers; of payloads it records nothing.
    public func record(_ records: [InboxRecord]) async {
        answers.withLock { answers in
            for record in records {
                switch record {
                case .answer(let answer) where !answers.contains { $0.id == answer.id }:
                    if answers.count == Self.mostAnswers { answers.removeFirst() }
                    answers.insert(answer, at: answers.firstIndex { $0.id > answer.id } ?? answers.endIndex)
                case .answered(let id): answers.removeAll { $0.id == id }
                default: break
                }
            }
        }
    }

    /// None: there was no earlier process.
    public func entries(after id: UInt64, limit: Int) -> [InboxEntry] { [] }

    /// None: it keeps no payloads.
    public func entries(of ids: [UInt64]) -> [InboxEntry] { [] }

    /// The first answers for a sender; their payloads end at once.
    public func answers(of sender: String, limit: Int) -> [UnsentAnswer] {
        answers.withLock { Array($0.lazy.filter { $0.sender.isExactly(sender) }.prefix(limit)) }
    }
}
