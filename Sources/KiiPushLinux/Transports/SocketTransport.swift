import Glibc
public import KiiPush
public import KiiPushDelivery

/// Brings payloads that programs of this machine send over a Unix socket, one a line, and answers each.
///
/// ```swift
/// let service = PushService(receiver, [SocketTransport(path: "/run/agent/push.sock")])
/// ```
///
/// A client connects, sends a payload a line, and reads a JSON object a line, in the order of its payloads:
///
/// | answer | the payload |
/// |---|---|
/// | `{"outcome":"handled","disposition":"accept"}` | ended so; `reason` says more exactly why, where there is more |
/// | `{"outcome":"stored","disposition":"accept"}` | is on disk, has not ended within a second, and will |
/// | `{"outcome":"left","disposition":"retryLater"}` | had not ended when the service stopped; send it again |
/// | `{"outcome":"notTaken","disposition":"retryLater","reason":"stopping"}` | was not taken in; send it again |
/// | `{"outcome":"undecodable","disposition":"reject","reason":"limitExceeded"}` | exceeds the limit, and was dropped |
///
/// A payload that is not taken in may have the reason `inboxFailed` as well. A client that is turned away gets
/// `notTaken` with `tooManyClients`, or with the disposition `reject` and `notAllowed`.
///
/// Lines end with LF or CRLF, the last one may end with what the client sends; blank ones are passed over and not
/// answered. An accepted payload is handled whether or not its client still waits for the answer.
///
/// The socket has mode 0600, and the user of each client is asked of the system: by default this process's user and
/// root may. Its directory must be one that only this user and root may write to. A socket that an earlier process left
/// is replaced, and the socket is removed at the end.
///
/// When all places are taken, one who connects gets that of the client who has sent nothing for the longest time, if
/// that is at least 30 seconds and nothing of it is unanswered; so clients who are silent close the socket to nobody.
///
/// One thread serves all clients, and none keeps it waiting. A client may have 256 payloads that are not answered and
/// 64 KiB of answers that it has not read; beyond, and while the service is full, nothing is read from it. When it is
/// cancelled it takes no more, and answers what it has taken: within a second, or two for clients that are slow to
/// read.
public struct SocketTransport: PushTransport {
    /// How a socket is served.
    struct Settings: Sendable {
        let path: String
        let transport: Transport?
        let users: Set<uid_t>
        let clients: Int
        let limit: Int
        let answerAfter: Duration
        /// How long a client may be silent before another one may have its place.
        var idleLimit = Duration.seconds(30)
        /// Told when no client can be taken on for want of descriptors or memory, and when one can again.
        var shortages: Shortages?

        /// How long payloads may go on, and then answers be read, once the transport is stopped.
        var longestStop = Duration.seconds(1)

        /// The socket's mode: where others may connect, the system would turn them away without it.
        var mode: mode_t { users.isSubset(of: [geteuid(), 0]) ? 0o600 : 0o666 }
    }

    /// Its name in logs and metrics.
    public let name: String

    /// It tells clients what became of their payloads, also that one was not taken; it brings none again.
    public var abilities: TransportAbilities { [.acknowledges, .refuses] }

    private var settings: Settings

    /// Makes a transport; nothing is there to connect to before it runs.
    ///
    /// - Parameters:
    ///   - path: the socket's path, at most 107 bytes.
    ///   - transport: the network that the payloads came over, where it is known.
    ///   - users: the users who may, by number; nil for this process's and root. If others are among them the socket
    ///     has mode 0666, and the list alone decides.
    ///   - clients: how many may be connected at once, 1 to 512; further clients get an error and are disconnected.
    ///   - limit: the most bytes of a line, its end not counted; that of the receiver's payloads.
    ///   - answerAfter: how long the answer for a stored payload waits for its end, at most an hour.
    ///   - shortages: notified when clients have to wait since there are no open files for them, and when no longer.
    ///   - name: its name in logs and metrics.
    public init(
        path: String, transport: Transport? = nil, users: Set<UInt32>? = nil, clients: Int = 16,
        limit: Int = PayloadLimits.standard.bytes, answerAfter: Duration = .seconds(1), shortages: Shortages? = nil,
        name: String = "unix"
    ) {
        settings = Settings(
            path: path, transport: transport, users: users ?? [geteuid(), 0], clients: min(max(clients, 1), 512),
            limit: limit, answerAfter: min(max(answerAfter, .zero), .seconds(3600)))
        settings.shortages = shortages
        self.name = name
    }

    /// The same, with other limits for silent clients and for its end.
    package func limits(idle: Duration, stop: Duration) -> SocketTransport {
        var other = self
        other.settings.idleLimit = idle
        other.settings.longestStop = stop
        return other
    }

    /// Listens, and serves clients until the task is cancelled.
    ///
    /// - Throws: ``SocketError`` when it cannot listen.
    public func run(_ intake: PushIntake) async throws {
        let signal: ThreadSignal
        do throws(ErrorNumber) { signal = try ThreadSignal() } catch {
            throw SocketError.failed(path: settings.path, error)
        }
        try await withTaskCancellationHandler {
            try await withThread { [settings] in
                Result { () throws(SocketError) in
                    var server = try SocketServer(settings, intake, signal)
                    server.run()
                }
            }.get()
        } onCancel: {
            signal.end()
        }
    }
}
