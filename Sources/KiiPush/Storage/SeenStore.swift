/// Remembers which messages were handled, and which are being handled now.
///
/// Two phases, so that a message whose handler fails is not lost and one that arrives twice at once is not handled
/// twice: ``begin(_:now:)`` reserves, ``commit(_:now:)`` confirms, ``release(_:)`` undoes.
///
/// Promises to callers:
/// - Each call is one atomic step, from any thread: of several that begin one message at once, exactly one gets it.
/// - Two messages are the same one if ``DedupeKeys/isSameMessage(as:)`` says so, and, where their keys are weak, if
///   they also arrived less than ``SeenWindow/weakAge`` apart, whichever came first. When they were handled does not
///   count, nor for how long the first has been in flight. So several messages with one key may be in flight at once.
/// - A lease ends only by `commit` or `release`, or when the process ends; it is never taken away by age or by count.
///   No two leases of a store have the same number.
/// - A lease that has ended, and one that the store never gave, change nothing.
/// - A handled message is remembered from its `commit` on, for ``SeenWindow/age``; being asked for again does not make
///   that longer. A message with a weak key too, since a copy of it may wait somewhere.
/// - The only time is the `now` that is passed in. It may stand still, and it may be earlier than in the call before:
///   threads overtake each other, and a message may have waited since it arrived. A message with strong keys that was
///   committed after `now` is done.
/// - A clock that is set drops no honest message. Set forward, what was remembered is too old. Set back by more than
///   the message's age, and by more than a minute, it counts as forgotten; set back by less, it is remembered for as
///   much longer.
/// - Messages with weak keys never displace those with strong ones.
/// - A call that throws has changed nothing. A `begin` that throws has reserved nothing: nobody knows of the lease, so
///   nobody would end it.
///
/// To test a store of yours, run `SeenStoreContract` from KiiPushContracts; it checks each of these.
public protocol SeenStore: Sendable {
    /// Asks for a message and reserves it if it is new.
    ///
    /// - Parameters:
    ///   - keys: the message's keys.
    ///   - now: when the message arrived, on the receiver's clock; the lease takes it along.
    /// - Returns: a lease if it is new; else what became of it so far.
    /// - Throws: when the store cannot tell; the deduplicator then passes or fails the message, as it was told.
    func begin(_ keys: DedupeKeys, now: MonotonicInstant) throws -> SeenState

    /// Remembers a message as handled, for as long as the window is; one with a weak key as having arrived when its
    /// lease says.
    ///
    /// - Parameters:
    ///   - lease: the message's lease.
    ///   - now: when it ended; long ago, if the store threw when it was told so first.
    /// - Throws: when the store cannot remember it; it will be told again. Until then the lease is in flight.
    func commit(_ lease: SeenLease, now: MonotonicInstant) throws

    /// Forgets a reservation, so that the message counts as new when it comes again.
    ///
    /// - Throws: when the store cannot; it will be told again. Until then the lease is in flight.
    func release(_ lease: SeenLease) throws

    /// Whether a lease has neither been confirmed nor undone.
    ///
    /// - Throws: when the store cannot tell; the transport of the copy that asks is then told to retry later.
    func isInFlight(_ lease: SeenLease) throws -> Bool

    /// What the store holds now, and what it forgot too early; nil, unless you implement it, for a store that does not
    /// count. Reading it should take constant time.
    var counts: SeenCounts? { get }
}

extension SeenStore {
    /// Nil: the store does not count.
    public var counts: SeenCounts? { nil }
}

/// What a seen store knows of a message.
public enum SeenState: Sendable, Hashable {
    /// It is new, and now reserved.
    case fresh(SeenLease)
    /// It is being handled under the lease of this number; the keys may be the first message's or those asked for.
    case inFlight(SeenLease)
    /// It was handled within the window.
    case done
}

/// A reservation of a message in a seen store.
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
    /// How much later or earlier than another a message with an equal weak key must arrive to count as a new one.
    public var weakAge: Duration

    /// By how much a message may at least be asked for before its commit; earlier, the clock was set back.
    static let leastLag = Duration.seconds(60)

    /// 10 minutes, 20,000 messages, 5 seconds from arrival to arrival for weak keys.
    public static let standard = SeenWindow()

    /// Sets the bounds.
    public init(age: Duration = .seconds(600), count: Int = 20_000, weakAge: Duration = .seconds(5)) {
        self.age = age
        self.count = max(count, 0)
        self.weakAge = weakAge
    }
}
