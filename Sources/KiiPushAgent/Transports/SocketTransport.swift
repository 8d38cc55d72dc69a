import CLibrary
public import KiiPush
public import KiiPushDelivery
public import KiiPushSystem
import Synchronization

/// Accepts payloads from programs on this machine over a Unix socket, one a line, and answers each.
///
/// ```swift
/// let service = PushService(receiver, [SocketTransport(path: "/run/agent/push.sock")])
/// ```
///
/// A client connects, sends a payload a line, and reads a JSON object a line, in the order of its payloads:
///
/// | answer | the payload |
/// |---|---|
/// | `{"outcome":"handled","disposition":"accept"}` | has ended with this outcome; `reason` is optional |
/// | `{"outcome":"stored","disposition":"accept"}` | is on disk, has not ended within a second, and will |
/// | `{"outcome":"left","disposition":"retryLater"}` | had not ended when the service stopped; send it again |
/// | `{"outcome":"notTaken","disposition":"retryLater","reason":"stopping"}` | was not accepted; send it again |
/// | `{"outcome":"undecodable","disposition":"reject","reason":"limitExceeded"}` | exceeds the limit, and was dropped |
///
/// The reason of a payload that is not accepted may also be `inboxFailed`. A client that is refused gets `notTaken`
/// with `tooManyClients`, or with the disposition `reject` and `notAllowed`.
///
/// Lines end with LF or CRLF, the last one may end with the client's input; blank ones are skipped without an answer.
/// An accepted payload is handled even if its client no longer waits for the answer.
///
/// The socket has mode 0600, and the system confirms each client's user: by default this process's user and root are
/// allowed. Only this user and root may have write permission for its directory. It replaces a socket that an earlier
/// process left, and removes the socket at the end. If somebody else removes it, it listens again within five seconds.
///
/// When the most clients are connected, a new one replaces the client with the longest silence, if that is at least 30
/// seconds and nothing of it is unanswered, also in the middle of a line; so silent clients cannot block the socket.
///
/// One thread serves all clients, and waits for none. A client may have 256 unanswered payloads and 64 KiB of unread
/// answers; beyond, and while the service is full, nothing is read from it. When cancelled, it accepts no more, and
/// answers what it has accepted: within a second, or two for slow readers.
public struct SocketTransport: PushTransport {
    /// Its name in logs and metrics.
    public let name: String

    /// It reports results and answers to clients, also refusals; it redelivers nothing.
    public var abilities: TransportAbilities { [.acknowledges, .refuses, .answers] }

    let path: String
    let network: Transport?
    let users: Set<uid_t>
    let clients: Int
    let limit: Int
    let answerAfter: Duration
    /// How long a client may be silent before another one may replace it.
    private(set) var idleLimit = Duration.seconds(30)
    /// How long accepted payloads may take, and then answers be read, after the transport is stopped.
    private(set) var longestStop = Duration.seconds(1)
    /// How often it checks that the path still names its socket.
    private(set) var lookEvery = Duration.seconds(5)
    /// Notified when no client can be accepted for lack of descriptors or memory, and when one can again.
    private(set) var shortages: Shortages?
    private let early = EarlyListener()

    /// Makes a transport; the socket does not exist before it runs.
    ///
    /// - Parameters:
    ///   - path: the socket's path, at most 107 bytes.
    ///   - transport: the network of the payloads, if known.
    ///   - users: the allowed users, by number; nil for this process's and root. With other users the socket has mode
    ///     0666, and only the list decides.
    ///   - clients: how many may be connected at once, 1 to 512; further clients get an error and are disconnected.
    ///   - limit: the most bytes of a line, without its end; use the receiver's limit for payloads.
    ///   - answerAfter: how long the answer for a stored payload waits for its end, at most an hour.
    ///   - shortages: notified when clients must wait for lack of open files, and when they no longer must.
    ///   - name: its name in logs and metrics.
    public init(
        path: String, transport: Transport? = nil, users: Set<UInt32>? = nil, clients: Int = 16,
        limit: Int = PayloadLimits.standard.bytes, answerAfter: Duration = .seconds(1), shortages: Shortages? = nil,
        name: String = "unix"
    ) {
        (self.path, network, self.name, self.limit) = (path, transport, name, limit)
        self.users = users ?? [geteuid(), 0]
        self.clients = min(max(clients, 1), 512)
        self.answerAfter = min(max(answerAfter, .zero), .seconds(3600))
        self.shortages = shortages
    }

    /// The same, with other limits for silent clients and for its end, and other checks of its path.
    package func limits(idle: Duration, stop: Duration, lookEvery: Duration = .seconds(5)) -> SocketTransport {
        var other = self
        (other.idleLimit, other.longestStop, other.lookEvery) = (idle, stop, lookEvery)
        return other
    }

    /// The same, notifying an agent's shortages.
    func noting(_ shortages: Shortages) -> SocketTransport {
        var other = self
        other.shortages = self.shortages ?? shortages
        return other
    }

    /// Listens before it runs, so that clients can connect already; they are served once it runs.
    package func listen() throws(SocketError) { early.put(try newListener()) }

    /// Stops listening, unless it runs.
    package func stopListening() { _ = early.take() }

    /// Listens, and serves clients until the task is cancelled.
    ///
    /// - Throws: an error whose description says why it cannot listen, and what to do.
    public func run(_ intake: PushIntake) async throws {
        let signal: ThreadSignal
        do throws(ErrorNumber) { signal = try ThreadSignal() } catch {
            throw SocketError.failed(path: path, error)
        }
        try await withTaskCancellationHandler {
            try await withThread { [self] in
                Result { () throws(SocketError) in
                    var server = SocketServer(self, intake, signal, try listener())
                    server.run()
                }
            }.get()
        } onCancel: {
            signal.end()
        }
    }

    /// The listener that waits, else a new one.
    private func listener() throws(SocketError) -> SocketListener {
        if let listener = early.take() { return listener }
        return try newListener()
    }

    /// A listener whose mode has stricter permissions unless other users are allowed, whom the system would refuse.
    func newListener() throws(SocketError) -> SocketListener {
        try SocketListener(path, mode: users.isSubset(of: [geteuid(), 0]) ? 0o600 : 0o666)
    }
}

/// A listener that waits for its transport to run.
private final class EarlyListener: Sendable {
    private let listener = Mutex<SocketListener?>(nil)

    func put(_ new: consuming SocketListener) {
        var new: SocketListener? = new
        listener.withLock { listener in listener = new.take() }
    }

    func take() -> SocketListener? { listener.withLock { listener in listener.take() } }
}
