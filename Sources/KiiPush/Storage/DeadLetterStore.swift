import Synchronization

/// A message that nobody will handle unless somebody replays it.
public struct DeadLetter: Sendable, Identifiable {
    /// Why a message was put aside.
    @nonexhaustive
    public enum Reason: String, Sendable, Hashable, CaseIterable {
        /// The loop guard should hold it and had no capacity left, as ``LoopGuard`` says.
        case holdLimitReached = "heldFull"
        /// It was held, queued or to be tried again when its route, its bucket or everything was switched off.
        case killSwitch
        /// Too many messages of its bucket, topic or sender waited in the inbox already; see
        /// `ServiceSettings.messagesOnDisk`.
        case backlogFull
        /// Its handler failed, as often as it may be tried, or once where no transport will deliver it again since other
        /// routes have handled it.
        case failed
        /// The process ended four times while it was being handled, but for the first time it alone.
        case quarantined
        /// It is no push message, and no delivery will make it one.
        case undecodable
    }

    /// The letter's number in its store; 0 until it is stored.
    public var id: UInt64
    /// The payload as received.
    public let payload: RawPayload
    /// Why it was put aside.
    public let reason: Reason
    /// The routes that did not handle it.
    public let routes: [String]
    /// When it arrived, on the receiver's clock.
    public let arrivedAt: MonotonicInstant
    /// When it arrived, by the wall clock, in milliseconds since the beginning of 1970.
    ///
    /// For a store that outlives the process, whose letters' ``arrivedAt`` then says nothing; nil from one that does not.
    public var receivedAt: Int64? = nil
    /// How often its handlers were run; 0 when they never were.
    public var attempts = 0
    /// How often rules had been loaded when it was put aside, as ``PushReceiver/rulesGeneration``; 0 without rules.
    public var rulesGeneration = 0
    /// What went wrong at last, and nothing of the payload: the type of an error, what a ``ReportedError`` says, or a
    /// decoder's code.
    public var cause: String? = nil
    /// The number of the payload in the durable inbox of the service that puts it aside; nil where there is none.
    ///
    /// For a store that has its letters written with the inbox's notes, and only for that: no store gives it back.
    public var inboxID: UInt64? = nil
    /// What it has in common with other letters, the narrowest first; none for a letter that shares nothing.
    ///
    /// A service gives one key of the route, the bucket, topic or sender and the reason, and one of the route and the
    /// reason. A store need not give them back.
    public var keys: [Key] = []
    /// The messages that it stands for, where that is more than one.
    public var summary: Summary? = nil

    /// Makes a letter that is not stored yet; a store that reads one back gives its number too.
    public init(id: UInt64 = 0, payload: RawPayload, reason: Reason, routes: [String], arrivedAt: MonotonicInstant) {
        self.id = id
        self.payload = payload
        self.reason = reason
        self.routes = routes
        self.arrivedAt = arrivedAt
    }
}

/// Keeps the messages that were put aside, until somebody replays or drops them.
///
/// Promises to callers:
/// - Each call is one atomic step, from any thread.
/// - A letter is given back as it came, payload byte for byte, but for the number, until it is removed. What times a
///   letter of an earlier process has, the store says.
/// - No key takes more than its share: a tenth of the letters and a fifth of the bytes for the first of a letter's
///   ``DeadLetter/keys``, half for any other. Beyond the share, and when the store is full, a letter is folded into the
///   last one of its key, which then stands for both: it has the newest payload, and its ``DeadLetter/summary`` counts.
///   A letter that has no key, or the first of its keys in a full store, is refused: no letter is forgotten uncounted.
/// - Those that are ``DeadLetter/Reason/undecodable`` get half of the room at most, so that garbage, of which there can be
///   any amount, leaves room for the messages that failed.
/// - Numbers go up from 1 and are never used twice, not even that of a letter that is gone.
/// - A call that throws has changed nothing.
///
/// To test a store of yours, run `DeadLetterStoreContract` from KiiPushContracts; it checks each of these.
public protocol DeadLetterStore: Sendable {
    /// Whether its letters survive a crash and a loss of power; without a word of the store, false.
    ///
    /// A `PushService` with a durable inbox tells `ServiceEvent.notDurable(_:)` where they do not.
    var isDurable: Bool { get }

    /// Keeps a letter and returns its number.
    ///
    /// - Parameter letter: the letter; its own number counts for nothing.
    /// - Returns: the number that it has in the store, or that of the letter that stands for it.
    /// - Throws: when it cannot keep the letter, also for want of room; a service with a durable inbox then keeps the
    ///   message there and tries again later, else it ends as ``Outcome/failed(_:)``, so that its transport delivers it
    ///   again.
    func add(_ letter: DeadLetter) throws -> UInt64

    /// All letters, oldest first.
    func letters() throws -> [DeadLetter]

    /// Forgets a letter; whether there was one of that number.
    @discardableResult
    func remove(_ id: UInt64) throws -> Bool

    /// How many letters there are.
    ///
    /// Asked often, for metrics and alarms, so give a store a way that reads no payload; without one, all letters are
    /// read and counted.
    var count: Int { get throws }

    /// Whether there is no room for one more letter of any kind, so that nothing can be put aside until some are replayed
    /// or dropped.
    ///
    /// Asked often, for metrics and health checks. A store that says nothing is never full.
    var isFull: Bool { get throws }
}

extension DeadLetterStore {
    /// False: a store that says nothing else promises nothing.
    public var isDurable: Bool { false }

    /// False: a store that says nothing else has room.
    public var isFull: Bool { false }

    /// How many letters there are, counted by reading all of them.
    public var count: Int { get throws { try letters().count } }
}

extension DeadLetter: CustomStringConvertible {
    /// The number, the reason, the routes and the size, on one line: `dead letter 3: heldFull, settings, 227 bytes`.
    public var description: String {
        let routes = routes.isEmpty ? "no route" : routes.map(Suggestion.shown).joined(separator: " ")
        let others = summary.map { ", the newest of \($0.count)" } ?? ""
        return "dead letter \(id): \(reason.rawValue), \(routes), \(counted(payload.bytes.count, "byte"))\(others)"
    }
}

/// A dead-letter store has no more room; replay or drop what is there.
public struct DeadLettersFull: Error, Sendable, Hashable, CustomStringConvertible {
    /// How many letters are kept.
    public let count: Int
    /// How many bytes their payloads have.
    public let bytes: Int
    /// The only reason for which there is no more room; nil where there is none for any.
    public let reason: DeadLetter.Reason?

    /// Says what a store holds that takes no more, of all reasons or of one.
    public init(count: Int, bytes: Int, reason: DeadLetter.Reason? = nil) {
        self.count = count
        self.bytes = bytes
        self.reason = reason
    }

    /// What to do, in words.
    public var description: String {
        let kind = reason.map { "\($0.rawValue) " } ?? ""
        let letters = "\(counted(count, "\(kind)dead letter")) of \(counted(bytes, "byte"))"
        return "\(letters) \(count == 1 ? "is" : "are") kept already; replay or drop some"
    }
}

/// A dead-letter store that lives as long as the process.
public final class InMemoryDeadLetterStore: DeadLetterStore {
    private struct State {
        var letters: [DeadLetter] = []
        var lastID: UInt64 = 0
        var room: DeadLetterQuota
    }

    private let state: Mutex<State>

    /// Makes an empty store.
    ///
    /// - Parameters:
    ///   - capacity: how many letters it keeps.
    ///   - bytes: how many bytes their payloads may have in all.
    public init(capacity: Int = 1000, bytes: Int = 8 << 20) {
        state = Mutex(State(room: DeadLetterQuota(capacity: capacity, bytes: bytes)))
    }

    /// Keeps a letter and returns its number.
    public func add(_ letter: DeadLetter) throws -> UInt64 {
        try state.withLock { state in
            switch try state.room.take(letter, as: state.lastID + 1) {
            case .new:
                state.lastID += 1
                state.letters.append(letter)
                state.letters[state.letters.count - 1].id = state.lastID
                return state.lastID
            case .folded(let id, let replacesPayload):
                guard let index = state.letters.firstIndex(where: { $0.id == id }) else { return id }
                state.letters[index].fold(letter, replacesPayload: replacesPayload)
                return id
            }
        }
    }

    /// How many letters there are, in constant time.
    public var count: Int { state.withLock { $0.letters.count } }

    /// Whether it has as many letters or bytes as it may, in constant time.
    public var isFull: Bool { state.withLock { $0.room.isFull } }

    /// All letters, oldest first.
    public func letters() -> [DeadLetter] { state.withLock { $0.letters } }

    /// Forgets a letter; whether there was one of that number.
    @discardableResult
    public func remove(_ id: UInt64) -> Bool {
        state.withLock { state in
            guard let index = state.letters.firstIndex(where: { $0.id == id }) else { return false }
            state.letters.remove(at: index)
            state.room.remove(id)
            return true
        }
    }
}
