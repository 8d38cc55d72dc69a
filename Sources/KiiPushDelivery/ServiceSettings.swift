public import KiiPush

/// The bounds of a ``PushService``: how much it handles and keeps at once, and how long handlers may take to stop.
public struct ServiceSettings: Sendable, Hashable {
    /// How many handlers run at once, at least 1; by default 8.
    ///
    /// Messages of one route (the first that matches) use at most all but one of these places, and those of one bucket,
    /// topic or sender all but two, but at least one; so a message of another one gets a place at once, however long
    /// the handlers take. Messages that are replayed by hand run beside them.
    public var concurrency = 8
    /// How many messages of a durable inbox may be begun and not yet recorded as ended, by default 64; fewer than
    /// ``concurrency`` count as that many.
    ///
    /// At most this many are handled twice if the process is killed, besides those replayed by hand. While handlers are
    /// fast, messages are begun before a handler is free, so that many share a write; not if ``concurrency`` is 1.
    public var inFlight = 64
    /// How many payloads are in memory at once, waiting, being handled or being retried; by default 1,000.
    ///
    /// One rule keeps it fair: a route may use as much as is free, a bucket, topic or sender half of that, and an
    /// object, or another ordering key, an eighth. With a durable inbox, further payloads wait in the inbox, and are
    /// read when there is room. With an inbox in memory, the transport waits instead; each of several transports may
    /// use as much as is free, a single one all.
    public var messages = 1000
    /// How many bytes they may have in all, by the same rule; by default 8 MiB; a larger payload is accepted alone.
    public var bytes = 8 << 20
    /// How many payloads may wait in a durable inbox and not in memory, by the same rule but for single objects; by
    /// default 65,536.
    ///
    /// Each takes about 400 bytes of memory. Beyond this bound or the next one, the newest change of an object replaces
    /// older ones that wait, which end as `Outcome.superseded`, if the ordering key is the object; any other message is
    /// dead-lettered as `DeadLetter.Reason.backlogFull`. Payloads of an earlier process, and those that wait for room
    /// among the dead letters, are all accepted.
    public var messagesOnDisk = 65_536
    /// How many bytes these payloads may have in all, by the same rule; by default 64 MiB.
    public var bytesOnDisk = 64 << 20
    /// How long handlers may run on when the service stops, before they are cancelled; by default 10 s.
    public var drain = Duration.seconds(10)
    /// How long a cancelled handler may take to return, before its lane continues without it; by default 5 s.
    public var grace = Duration.seconds(5)

    /// The defaults.
    public static let standard = ServiceSettings()

    /// The defaults.
    public init() {}
}

/// An event of a service, other than an outcome, for logs and alarms.
@nonexhaustive
public enum ServiceEvent: Sendable {
    /// A handler failed and the message is tried again after a pause; the cause is the type of the error, or the text
    /// of a `ReportedError`.
    case retry(messageID: UInt64, route: String, attempt: Int, pause: Duration, cause: String)
    /// A handler exceeded its timeout and was cancelled; `isLeft` if it had not returned after the grace either, and
    /// its lane continues without it.
    case overrun(messageID: UInt64, route: String, isLeft: Bool)
    /// The inbox or the dead-letter store failed and is tried again; the text says where and why.
    case storeFailed(String)
    /// The inbox is durable and the dead letters are not, so a dead-lettered message is lost with the process; reported
    /// once, when the service starts.
    case notDurable(String)
    /// An earlier process ended while it handled these many messages: they run first, one at a time, and all others
    /// wait; reported once, when the service has read what that process left.
    case recovering(messages: Int)
    /// An event of a transport, by the transport's name.
    case transport(String, TransportEvent)
}

/// How many messages ended or were left when a service stopped.
public struct DrainReport: Sendable, Hashable {
    /// How many ended after the service began to stop.
    public var finished = 0
    /// How many are left because their handlers were cancelled.
    public var cancelled = 0
    /// How many are left, including cancelled ones; a durable inbox keeps them for the next process.
    public var left = 0

    /// Nothing to report.
    public init() {}
}

/// The current state of a service; a snapshot.
public struct ServiceStatus: Sendable, Hashable {
    /// How many messages wait in their lanes.
    public var waiting = 0
    /// How many handlers run, except those that are overrunning.
    public var handling = 0
    /// How many wait to be tried again.
    public var retrying = 0
    /// How many wait at the head of their lane because more of their kind came than are handled at once.
    public var paced = 0
    /// How many messages that were in flight when an earlier process ended have yet to run alone, for which all others
    /// wait.
    public var recovering = 0
    /// How many payloads are in memory.
    public var messages = 0
    /// Their bytes.
    public var bytes = 0
    /// How many payloads wait in the inbox and not in memory; after the end, how many are left there.
    public var onDisk = 0
    /// The bytes of those; 0 after the end.
    public var bytesOnDisk = 0
    /// How many handlers did not return after their timeout, and still run.
    public var overrunning = 0
    /// Whether it accepts payloads: it runs, and the inbox worked at its last call; see ``PushService/checkInbox()``.
    public var isOpen = false
    /// The gaps that wait for their handling, for which new messages of their transports wait.
    public var gaps: [Gap] = []
    /// What fails now and is tried again, one line each: which use of a store and why, without anything of a payload.
    public var failures: [String] = []

    /// An idle service.
    public init() {}
}
