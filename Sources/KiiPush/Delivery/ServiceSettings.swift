/// How much a ``PushService`` takes on at once, and how long it lets things finish.
public struct ServiceSettings: Sendable, Hashable {
    /// How many messages are being handled at once: 8; at least one, whatever it says.
    ///
    /// Routes take turns, and in a route buckets, topics and senders do. Messages of one route (the first that takes them)
    /// use all but one of these places at most, and those of one bucket, topic or sender all but two, but at least one;
    /// so there is a place at once for a message of another one, however long the handlers take. Beside them runs one at most that the loop guard lets go, and those that somebody releases or
    /// replays by hand.
    public var concurrency = 8
    /// How many payloads are in the service at once: 1,000; those that wait, that are handled, that are tried again, and
    /// copies.
    ///
    /// Not those that the loop guard holds, which has bounds of its own, and not what an earlier process left: that is
    /// taken in whole, and nothing new before there is room again.
    public var messages = 1000
    /// How many bytes they may have in all: 8 MiB; what is larger than all there may be is taken alone.
    public var bytes = 8 << 20
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
public enum ServiceEvent: Sendable {
    /// A handler failed and the message is tried again after a pause; the cause is the type of what was thrown.
    case retry(messageID: UInt64, route: String, attempt: Int, pause: Duration, cause: String)
    /// A handler took longer than it may and was cancelled; `true` when it had not returned after the grace either, and
    /// its lane goes on without it.
    case overrun(messageID: UInt64, route: String, isLeft: Bool)
    /// The inbox, the dead-letter store or the breaker store failed, and it is tried again; the text says where and why.
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
    /// How many are being handled.
    public var handling = 0
    /// How many wait to be tried again.
    public var retrying = 0
    /// How many wait for the loop guard, or for the end of a message that they repeat.
    public var held = 0
    /// How many payloads there are in all, but for those that the loop guard holds.
    public var messages = 0
    /// The bytes of all, but for those that the loop guard holds.
    public var bytes = 0
    /// How many handlers did not return after their time was over, and still run.
    public var overrunning = 0
    /// Whether it takes payloads in.
    public var isOpen = false

    /// Nothing on its hands.
    public init() {}
}
