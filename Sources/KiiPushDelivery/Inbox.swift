public import KiiPush

/// Keeps payloads from the moment they are taken in until they have ended, so that a crash loses none.
///
/// A ``PushService`` owns one. Promises to it:
/// - ``add(_:)`` keeps all payloads or none, in one step; in a durable inbox they are on disk when it returns.
/// - Numbers go up from 1 and are never used twice, not even by another process on the same file.
/// - When ``record(_:)-([InboxRecord])`` has returned, the records are kept, on disk in a durable inbox, all in one
///   step. Of records for one payload the order holds. Many tasks may wait in `record` at once; they share a write. A
///   call that throws has changed nothing.
/// - What ended is gone. A record of a payload that is not there changes nothing.
/// - ``entries(after:limit:)`` gives back what an earlier process added and did not end, payload byte for byte, oldest
///   first, in pages. The first page counts the crashes.
/// - ``entries(of:)`` reads payloads again that have not ended, byte for byte, in the order of the numbers. It changes
///   nothing.
/// - Payloads of one process are given back as far apart as they arrived: equal ones are told apart by that.
///
/// To test an inbox of yours, run `InboxContract` from KiiPushContracts; it checks each of these.
public protocol Inbox: Sendable {
    /// Whether what it keeps survives a crash and a loss of power.
    var isDurable: Bool { get }

    /// Keeps payloads, all or none, and returns their numbers in the same order.
    ///
    /// May wait for the disk, so a transport calls it from a thread of its own or a few payloads at a time.
    ///
    /// - Throws: when they cannot be kept; none is then.
    func add(_ payloads: [RawPayload]) throws -> [UInt64]

    /// Takes down what became of payloads, in this order, all or nothing.
    ///
    /// A service tells the end of one message together with the beginning of the next, so that both cost one write.
    ///
    /// - Throws: when they cannot be written; none is then, and the service tells all of them again.
    func record(_ records: [InboxRecord]) async throws

    /// What an earlier process left: the first payloads whose number is greater than `id`, oldest first.
    ///
    /// A service reads all pages before it adds anything, and keeps only a share of the payloads in memory. With 0 for
    /// `id`, each payload that was in flight when that process ended has one crash more from then on.
    ///
    /// - Parameters:
    ///   - id: the number of the last entry of the page before; 0 for the first page.
    ///   - limit: how many entries a page has at most.
    /// - Returns: the entries; none when there are no more.
    /// - Throws: when they cannot be read.
    func entries(after id: UInt64, limit: Int) throws -> [InboxEntry]

    /// Reads payloads again that this process or an earlier one has added, with what was recorded of them.
    ///
    /// A service calls it for payloads that wait on disk outside its places: it keeps their numbers only. Of an inbox
    /// that is not durable it asks for none, so such an inbox may return none.
    ///
    /// - Parameter ids: the numbers, in any order, each once.
    /// - Returns: an entry for each that has not ended, in the order of `ids`.
    /// - Throws: when they cannot be read.
    func entries(of ids: [UInt64]) throws -> [InboxEntry]
}

extension Inbox {
    /// All that an earlier process left, oldest first.
    ///
    /// - Throws: when it cannot be read.
    public func entries() throws -> [InboxEntry] {
        var (all, last) = ([InboxEntry](), UInt64(0))
        while true {
            let page = try entries(after: last, limit: 256)
            all += page
            guard let end = page.last?.id, end > last else { return all }
            last = end
        }
    }

    /// Takes down what became of a payload.
    ///
    /// - Throws: when it cannot be written; it has changed nothing then.
    public func record(_ record: InboxRecord) async throws { try await self.record([record]) }
}

/// What becomes of a payload in an inbox.
@nonexhaustive
public enum InboxRecord: Sendable, Hashable {
    /// Its handlers are about to run, for the `attempt`-th time; it is in flight from now on.
    case begun(UInt64, attempt: Int)
    /// The attempt is over and the message has not ended; these routes are done with it, the ones before included.
    case failed(UInt64, handled: [String])
    /// It has ended, and is gone from the inbox.
    case ended(UInt64)

    /// The payload's number.
    public var id: UInt64 {
        switch self {
        case .begun(let id, _), .failed(let id, _), .ended(let id): id
        }
    }
}

/// A payload that an earlier process took in and did not end.
public struct InboxEntry: Sendable, Hashable {
    /// Its number in the inbox.
    public let id: UInt64
    /// The payload as received; its arrival is on this process's clock, as far as the inbox can tell.
    public let payload: RawPayload
    /// How often its handlers were run.
    public let attempts: Int
    /// The routes whose handlers have succeeded.
    public let handled: [String]
    /// How often a process ended while it was in flight.
    public let crashes: Int
    /// Whether it was the only one in flight at the last of its crashes: then it was the one.
    public let crashedAlone: Bool

    /// Makes an entry; for inboxes.
    public init(
        id: UInt64, payload: RawPayload, attempts: Int = 0, handled: [String] = [], crashes: Int = 0,
        crashedAlone: Bool = false
    ) {
        self.id = id
        self.payload = payload
        self.attempts = attempts
        self.handled = handled
        self.crashes = crashes
        self.crashedAlone = crashedAlone
    }
}
