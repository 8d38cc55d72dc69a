import Synchronization

/// The deduplication store: it remembers which messages were handled, and which are being handled now.
///
/// ``begin(_:now:)`` reserves a message, ``commit(_:now:)`` confirms it, and ``release(_:)`` undoes the reservation: so
/// a message whose handler fails is not lost, and one that arrives twice at once is not handled twice.
///
/// Guarantees to callers:
/// - Each call is one atomic step, from any thread: of several that begin one message at once, exactly one gets it.
/// - Two messages are the same if ``DedupeKeys/isSameMessage(as:)`` says so and, if their keys are weak, if they also
///   arrived less than ``SeenWindow/weakAge`` apart, whichever came first. When they were handled does not matter, nor
///   for how long the first has been in flight. So several messages with one weak key may be in flight at once.
/// - A lease ends only by `commit` or `release`, or when the process ends; age and count never end it. No two leases of
///   a store have the same number. A call with a lease that has ended, or that the store never gave, changes nothing.
/// - A handled message is remembered for ``SeenWindow/age`` from its `commit` on; asking for it again does not extend
///   that. This includes messages with weak keys, because a copy may be waiting.
/// - Time is only the `now` that is passed in. It may be the same in several calls, and it may be earlier than in the
///   call before: threads overtake each other, and a message may have waited since it arrived. A message with strong
///   keys that was committed after `now` counts as handled.
/// - A clock that is set drops no legitimate message. If it is set forward, remembered messages expire. If it is set
///   back by more than ``SeenWindow/age`` and by more than a minute, a message with strong keys counts as forgotten; if
///   by less, it is remembered for longer by that time. For weak keys, only the arrivals count.
/// - Messages with weak keys never displace those with strong keys.
/// - A call that throws has changed nothing: a `begin` has reserved nothing, since nobody could end its lease.
///
/// To test a store of yours, run `SeenStoreContract` from KiiPushContracts; it checks those that can be seen from
/// outside.
public protocol SeenStore: Sendable {
    /// Looks up a message that arrived at `now`, and reserves it if it is new; that time becomes part of the lease.
    ///
    /// - Throws: if the store fails; the deduplicator then passes or fails the message, as it was configured.
    func begin(_ keys: DedupeKeys, now: MonotonicInstant) throws -> SeenState

    /// Remembers a message as handled for the length of the window; one with a weak key by its lease's arrival time.
    ///
    /// It ended at `now`, which is long ago if the store threw at the first call.
    ///
    /// - Throws: if the store cannot remember it; it is called again. Until then the lease is in flight.
    func commit(_ lease: SeenLease, now: MonotonicInstant) throws

    /// Forgets a reservation, so that the message counts as new when it arrives again.
    ///
    /// - Throws: if the store cannot; it is called again. Until then the lease is in flight.
    func release(_ lease: SeenLease) throws

    /// The store's counts, in constant time; nil, unless you implement it, for a store that does not count.
    var counts: SeenCounts? { get }
}

extension SeenStore {
    /// Nil: the store does not count.
    public var counts: SeenCounts? { nil }
}

/// The state of a message in a deduplication store.
public enum SeenState: Sendable, Hashable {
    /// It is new, and now reserved.
    case fresh(SeenLease)
    /// It is being handled under a lease.
    case inFlight
    /// It was handled within the window.
    case done
}

/// A reservation of a message in a deduplication store.
public struct SeenLease: Sendable, Hashable {
    /// The reservation's number, never used twice by a store.
    public let number: UInt64
    /// When the message arrived: the `now` of its `begin`.
    public let arrivedAt: MonotonicInstant
    /// The keys that are reserved.
    public let keys: DedupeKeys

    /// Makes a reservation; for stores.
    public init(number: UInt64, keys: DedupeKeys, arrivedAt: MonotonicInstant) {
        self.number = number
        self.keys = keys
        self.arrivedAt = arrivedAt
    }
}

/// How long and how many handled messages are remembered.
public struct SeenWindow: Sendable, Hashable {
    /// For how long a handled message is remembered.
    public var age: Duration
    /// How many messages are remembered, of each strength; the oldest is forgotten first.
    public var count: Int
    /// How far apart two messages with an equal weak key must arrive to count as two.
    public var weakAge: Duration
    /// The least time, in nanoseconds, before its commit at which a lookup shows that the clock was set back.
    static let leastLag: Int64 = 60_000_000_000
    /// 10 minutes, 20,000 messages, 5 seconds from arrival to arrival for weak keys.
    public static let standard = SeenWindow()

    /// Sets the bounds.
    public init(age: Duration = .seconds(600), count: Int = 20_000, weakAge: Duration = .seconds(5)) {
        self.age = age
        self.count = max(count, 0)
        self.weakAge = weakAge
    }
}

/// How many messages a deduplication store holds now and forgot too early; for ``SeenStore/counts``.
public struct SeenCounts: Sendable, Hashable {
    /// The window of the messages of one strength.
    public struct Window: Sendable, Hashable {
        /// How many handled messages the store holds now, including expired ones that are not removed yet.
        public var remembered: Int
        /// How many messages were forgotten by count before their time was over, since the store was made.
        ///
        /// While it grows, ``SeenWindow/count`` is too small, and a message that is delivered again late is handled
        /// again.
        public var evictedEarly: Int

        /// Sets both.
        public init(remembered: Int = 0, evictedEarly: Int = 0) {
            self.remembered = remembered
            self.evictedEarly = evictedEarly
        }
    }

    /// How many messages are being handled now: leases that have not ended.
    public var inFlight: Int
    /// The messages with strong keys.
    public var strong: Window
    /// The messages with a weak key.
    public var weak: Window

    /// Sets all.
    public init(inFlight: Int = 0, strong: Window = Window(), weak: Window = Window()) {
        self.inFlight = inFlight
        self.strong = strong
        self.weak = weak
    }
}

/// A deduplication store in memory, which lasts as long as the process.
///
/// Every call takes constant time: it forgets a few expired messages along the way. Memory follows use: nothing is
/// reserved for a window that is not full.
public final class InMemorySeenStore: SeenStore {
    let state: Mutex<SeenTable>

    /// Makes an empty store.
    public init(window: SeenWindow = .standard) { state = Mutex(SeenTable(window)) }

    /// Asks for a message and reserves it if it is new.
    public func begin(_ keys: DedupeKeys, now: MonotonicInstant) -> SeenState { state.withLock { $0.begin(keys, now) } }

    /// Remembers a message as handled.
    public func commit(_ lease: SeenLease, now: MonotonicInstant) { state.withLock { $0.commit(lease, now) } }

    /// Forgets a reservation.
    public func release(_ lease: SeenLease) { state.withLock { $0.release(lease) } }

    /// What the store holds now; never nil.
    public var counts: SeenCounts? { state.withLock { $0.counts } }
}
