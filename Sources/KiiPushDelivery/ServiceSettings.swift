import KiiPush

/// How much a ``PushService`` takes on at once, and how long it lets things finish.
public struct ServiceSettings: Sendable, Hashable {
    /// How many handlers run at once: 8; at least one, whatever it says.
    ///
    /// Routes take turns, and in a route buckets, topics and senders do. Messages of one route (the first that takes
    /// them) use all but one of these places at most, and those of one bucket, topic or sender all but two, but at
    /// least one; so there is a place at once for a message of another one, however long the handlers take. Beside them
    /// run those that somebody releases or replays by hand, and one at most that was in flight when the process before
    /// ended.
    public var concurrency = 8
    /// How many messages of a durable inbox may be begun and not yet recorded as ended: 64; at least ``concurrency``,
    /// whatever it says.
    ///
    /// No more than these may be handled twice when the process is killed, beside those that somebody releases by hand.
    /// The beginning of each message is on disk before its handlers run, and many messages share a write. So messages
    /// are begun ahead of a place among the handlers, for as long as they wait for it no longer than for a few writes:
    /// many while handlers are quick, none while they are slow. None is begun ahead where ``concurrency`` is 1, or
    /// where the inbox is in memory.
    public var inFlight = 64
    /// How many payloads are in memory at once: 1,000; those that wait, that are handled, that are tried again, and
    /// copies.
    ///
    /// Not those that the loop guard holds, which has bounds of its own. With a durable inbox, the messages of one
    /// object, or another ordering key, use a quarter of these places at most, those of one bucket, topic or sender
    /// half, and those of one route three quarters. A payload that finds no place is accepted all the same: it waits in
    /// the inbox, and is read back in order when there is a place. With an inbox in memory, a transport whose payload
    /// finds no place waits; where several transports run, half of the places is divided among them and kept for each.
    public var messages = 1000
    /// How many bytes they may have in all: 8 MiB, with the same shares; what is larger than all there may be is taken
    /// alone.
    public var bytes = 8 << 20
    /// How many payloads may wait in a durable inbox without a place: 65,536.
    ///
    /// In memory each takes about 400 bytes. Beyond this bound or one of the next three, the newest change of an object
    /// replaces older ones that wait, which end as `Outcome.superseded`; any other message becomes a dead letter,
    /// `DeadLetter.Reason.backlogFull`. A bucket, topic or sender may use no more than half of what is free, and a
    /// route no more than what is free, so that there is always something left for others. What an earlier process left
    /// is accepted whole.
    public var messagesOnDisk = 65_536
    /// How many bytes the payloads without a place may have in all: 64 MiB.
    public var bytesOnDisk = 64 << 20
    /// How many payloads of one bucket, topic or sender may wait without a place: 16,384.
    public var messagesOnDiskPerKey = 16_384
    /// How many bytes the payloads of one bucket, topic or sender that wait without a place may have: 16 MiB.
    public var bytesOnDiskPerKey = 16 << 20
    /// How long handlers may finish when the service stops, before they are cancelled: 10 s.
    public var drain = Duration.seconds(10)
    /// How long a handler that was cancelled may take to return, before its lane goes on without it: 5 s.
    public var grace = Duration.seconds(5)

    /// The defaults.
    public static let standard = ServiceSettings()

    /// The defaults.
    public init() {}
}

/// What a service has to tell beside the outcomes, for logs and alarms.
@nonexhaustive
public enum ServiceEvent: Sendable {
    /// A handler failed and the message is tried again after a pause; the cause is the type of what was thrown, or what
    /// a `ReportedError` says.
    case retry(messageID: UInt64, route: String, attempt: Int, pause: Duration, cause: String)
    /// A handler took longer than it may and was cancelled; `true` when it had not returned after the grace either, and
    /// its lane goes on without it.
    case overrun(messageID: UInt64, route: String, isLeft: Bool)
    /// The inbox, the dead-letter store or the breaker store failed, and it is tried again; the text says where and
    /// why.
    case storeFailed(String)
    /// The inbox is durable and the dead letters are not, so a message that is put aside is lost with the process; told
    /// once, when the service begins to run.
    case notDurable(String)
    /// A transport says something of itself.
    case transport(String, TransportEvent)
}

/// What became of the messages when a service stopped.
public struct DrainReport: Sendable, Hashable {
    /// How many ended after it began to stop.
    public var finished = 0
    /// How many are left since their handlers were cancelled.
    public var cancelled = 0
    /// How many are left, those that were cancelled and those that the loop guard held included; in a durable inbox for
    /// the next process.
    public var left = 0

    /// Nothing to report.
    public init() {}
}

/// What a service has on its hands; a snapshot.
public struct ServiceStatus: Sendable, Hashable {
    /// How many messages wait in their lanes.
    public var waiting = 0
    /// How many handlers run, but for those that are overrunning.
    public var handling = 0
    /// How many wait to be tried again.
    public var retrying = 0
    /// How many wait for the loop guard, or for the end of a message that they repeat.
    public var held = 0
    /// How many payloads have a place, which those that the loop guard holds have not.
    public var messages = 0
    /// The bytes of those that have a place.
    public var bytes = 0
    /// How many payloads wait in the inbox without a place.
    public var onDisk = 0
    /// The bytes of those, but for what waits for room among the dead letters.
    public var bytesOnDisk = 0
    /// How many handlers did not return after their time was over, and still run.
    public var overrunning = 0
    /// Whether it takes payloads in.
    public var isOpen = false

    /// Nothing on its hands.
    public init() {}
}
