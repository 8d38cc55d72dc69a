import Synchronization

/// A dead letter: a message that is not handled unless somebody replays it.
public struct DeadLetter: Sendable, Identifiable {
    /// Why a message was dead-lettered.
    @nonexhaustive
    public enum Reason: String, Sendable, Hashable, CaseIterable {
        /// It was waiting for its turn or a retry when its route, its bucket or everything was switched off.
        case killSwitch
        /// Too many messages of its bucket, topic or sender were waiting in the inbox; see
        /// `ServiceSettings.messagesOnDisk`.
        case backlogFull
        /// Its handler failed in every attempt.
        case failed
        /// The process ended four times while it handled the message: after the first time, it handled only this
        /// message.
        case quarantined
        /// It is not a push message, so delivering it again would not help.
        case undecodable
    }

    /// The number of the dead letter in its store; 0 until it is stored.
    public var id: UInt64
    /// The payload as received.
    public let payload: RawPayload
    /// Why the message was dead-lettered.
    public let reason: Reason
    /// The routes that did not handle it.
    public var routes: [String]
    /// When it arrived, on the receiver's clock.
    public let arrivedAt: MonotonicInstant
    /// When it arrived, by the wall clock, in milliseconds since the beginning of 1970; nil from a store that does not
    /// outlive the process.
    public var receivedAt: Int64? = nil
    /// How many times its handlers ran; 0 if they never ran.
    public var attempts = 0
    /// How many times rules had been loaded by then, as ``Trace/generation``; 0 without rules.
    public var rulesGeneration = 0
    /// The last error, without contents of the payload: the type of the error, the text of a ``ReportedError``, or a
    /// decoder's code.
    public var cause: String? = nil
    /// The number of the payload in the durable inbox of the service that dead-letters it, for a store that writes dead
    /// letters together with the inbox's records; nil if there is none, and in what a store returns.
    public var inboxID: UInt64? = nil
    /// The keys that it shares with other dead letters, the narrowest first; empty if it shares none.
    ///
    /// A service sets two: one of the route, the bucket, topic or sender, and the reason; and one of the route and the
    /// reason. Those of undecodable payloads are one of the transport, and one for all. A store need not return them.
    public var keys: [DedupeKey] = []
    /// The messages that it summarizes, if it is more than one.
    public var summary: Summary? = nil

    /// Makes a dead letter that is not stored yet; a store that reads one back sets its number too.
    public init(id: UInt64 = 0, payload: RawPayload, reason: Reason, routes: [String], arrivedAt: MonotonicInstant) {
        self.id = id
        self.payload = payload
        self.reason = reason
        self.routes = routes
        self.arrivedAt = arrivedAt
    }
}

/// Keeps dead letters until somebody replays or drops them.
///
/// Guarantees to callers:
/// - Each call is one atomic step, from any thread.
/// - A dead letter is returned as it was added, the payload byte for byte, except for the number, until it is removed.
///   The store documents the times of dead letters of an earlier process.
/// - No key uses more than its share: a tenth of the dead letters and a fifth of the bytes for the first of the
///   ``DeadLetter/keys``, half for any other; only its first dead letter may be larger. Beyond the share, and when the
///   store is full, a dead letter is merged into the last one of its key, which then represents both: it has the newest
///   payload that fits, and its ``DeadLetter/summary`` counts. A dead letter without a key, or the first of its keys in
///   a full store, is refused: none is forgotten uncounted.
/// - Numbers increase from 1 and are never reused, not even that of a dead letter that was removed.
/// - A call that throws has changed nothing.
///
/// To test a store of yours, run `DeadLetterStoreContract` from KiiPushContracts; it checks those that can be seen from
/// outside, in one process.
public protocol DeadLetterStore: Sendable {
    /// Whether dead letters survive a crash and a loss of power; false, unless you implement it.
    ///
    /// If they do not, a `PushService` with a durable inbox reports `ServiceEvent.notDurable(_:)`.
    var isDurable: Bool { get }

    /// Adds a dead letter, whose own number is ignored; returns its number, or that of the one that it was merged into.
    ///
    /// - Throws: if the store cannot keep it, for example because it is full. A service with a durable inbox then keeps
    ///   the message there and tries again later; otherwise the message ends as ``Outcome/failed(_:)``, so that its
    ///   transport delivers it again.
    func add(_ letter: DeadLetter) throws -> UInt64

    /// All dead letters, oldest first.
    func letters() throws -> [DeadLetter]

    /// Whether there is a dead letter of that number; by default, all are read. A replay asks before it begins.
    func contains(_ id: UInt64) throws -> Bool

    /// Removes a dead letter; returns whether there was one of that number.
    @discardableResult
    func remove(_ id: UInt64) throws -> Bool

    /// Removes a dead letter that was handled again, unless others have been merged into it since it was read; returns
    /// whether it was removed.
    ///
    /// Implement it as one atomic step: by default, all dead letters are read first, and what is merged meanwhile is
    /// removed, too.
    ///
    /// - Throws: if that cannot be written; the dead letter then still exists.
    @discardableResult
    func remove(_ letter: DeadLetter) throws -> Bool

    /// Records which routes have still not handled a dead letter after a replay, unless others have been merged into it
    /// since it was read.
    ///
    /// By default it does nothing: the next replay then runs again the handlers that have succeeded.
    ///
    /// - Throws: if that cannot be written; the dead letter is then unchanged.
    func setRoutes(_ routes: [String], of letter: DeadLetter) throws

    /// How many dead letters there are; by default, all are read and counted. Metrics and alarms ask often.
    var count: Int { get throws }

    /// Whether the store has no capacity for another dead letter of any kind, until some are replayed or dropped; by
    /// default never. Metrics and health checks ask often.
    var isFull: Bool { get throws }
}

extension DeadLetterStore {
    /// False: a store guarantees nothing unless it says so.
    public var isDurable: Bool { false }

    /// False: a store has capacity unless it says otherwise.
    public var isFull: Bool { false }

    /// Whether there is a dead letter of that number, by reading all of them.
    public func contains(_ id: UInt64) throws -> Bool { try letters().contains { $0.id == id } }

    /// Removes a dead letter if it stands for as many messages as when it was read.
    @discardableResult
    public func remove(_ letter: DeadLetter) throws -> Bool {
        guard try letters().contains(where: { $0.id == letter.id && $0.count == letter.count }) else { return false }
        return try remove(letter.id)
    }

    /// Does nothing: a replay runs all routes that the dead letter had when it was added.
    public func setRoutes(_ routes: [String], of letter: DeadLetter) throws {}

    /// How many dead letters there are, counted by reading all of them.
    public var count: Int { get throws { try letters().count } }
}

extension DeadLetter: CustomStringConvertible {
    /// The number, the reason, the routes and the size, on one line: `dead letter 3: failed, settings, 227 bytes`.
    public var description: String {
        let routes = routes.isEmpty ? "no route" : routes.map(Suggestion.shown).joined(separator: " ")
        let others = summary.map { ", the newest of \($0.count)" } ?? ""
        return "dead letter \(id): \(reason.rawValue), \(routes), \(counted(payload.bytes.count, "byte"))\(others)"
    }
}

/// The dead-letter store is full; replay or drop dead letters.
public struct DeadLettersFull: Error, Sendable, Hashable, CustomStringConvertible {
    /// How many dead letters are kept.
    public let count: Int
    /// The size of their payloads in bytes.
    public let bytes: Int

    /// Describes a full store, or with a count of 0 a dead letter that is larger than the whole store.
    public init(count: Int, bytes: Int) {
        self.count = count
        self.bytes = bytes
    }

    /// What is full, and what to do.
    public var description: String {
        if count == 0 { return "the dead letter is larger than the whole store; give the store larger bounds" }
        let letters = "\(counted(count, "dead letter")) of \(counted(bytes, "byte"))"
        return "\(letters) \(count == 1 ? "is" : "are") kept already; replay or drop some"
    }
}

/// A dead-letter store in memory, which lasts as long as the process.
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
    ///   - capacity: how many dead letters it keeps.
    ///   - bytes: the most bytes of their payloads together.
    public init(capacity: Int = 1000, bytes: Int = 8 << 20) {
        state = Mutex(State(room: DeadLetterQuota(capacity: capacity, bytes: bytes)))
    }

    /// Adds a dead letter and returns its number.
    public func add(_ letter: DeadLetter) throws -> UInt64 {
        try state.withLock { state in
            switch try state.room.take(letter, as: state.lastID + 1) {
            case .new:
                state.lastID += 1
                state.letters.append(letter)
                state.letters[state.letters.count - 1].id = state.lastID
                return state.lastID
            case .folded(let id, let growth):
                guard let index = state.letters.firstIndex(where: { $0.id == id }) else { return id }
                state.letters[index].fold(letter, replacesPayload: growth != nil)
                return id
            }
        }
    }

    /// How many dead letters there are, in constant time.
    public var count: Int { state.withLock { $0.letters.count } }

    /// Whether it is full, in constant time.
    public var isFull: Bool { state.withLock { $0.room.isFull } }

    /// All dead letters, oldest first.
    public func letters() -> [DeadLetter] { state.withLock { $0.letters } }

    /// Whether there is a dead letter of that number.
    public func contains(_ id: UInt64) -> Bool { state.withLock { $0.letters.contains { $0.id == id } } }

    /// Removes a dead letter; returns whether there was one of that number.
    @discardableResult
    public func remove(_ id: UInt64) -> Bool { remove { $0.id == id } }

    /// Removes a dead letter, unless others have been merged into it since it was read.
    @discardableResult
    public func remove(_ letter: DeadLetter) -> Bool { remove { $0.id == letter.id && $0.count == letter.count } }

    /// Records which routes have still not handled a dead letter, unless others have been merged into it.
    public func setRoutes(_ routes: [String], of letter: DeadLetter) {
        state.withLock { state in
            guard let index = state.letters.firstIndex(where: { $0.id == letter.id && $0.count == letter.count }) else {
                return
            }
            state.letters[index].routes = routes
        }
    }

    private func remove(where isMeant: (DeadLetter) -> Bool) -> Bool {
        state.withLock { state in
            guard let index = state.letters.firstIndex(where: isMeant) else { return false }
            state.room.remove(state.letters.remove(at: index).id)
            return true
        }
    }
}
