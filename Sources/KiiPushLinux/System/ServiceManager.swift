import Glibc
public import KiiPush

/// The service manager that started this process, systemd, and how it is notified: that the process is ready, how it is
/// doing, that it is alive.
///
/// ```swift
/// let manager = ServiceManager()
/// manager.ready()
/// ```
///
/// It speaks the protocol of `sd_notify` by a datagram each, without any library. Where no manager listens, as on a
/// terminal, every call does nothing. None waits longer than a tenth of a second. A unit that uses it has
/// `Type=notify`, and `WatchdogSec=` for the watchdog.
public struct ServiceManager: Sendable {
    /// How often ``alive()`` is due: in half the time after which the manager takes the process for dead; nil when no
    /// watchdog is set for it.
    public let watchdogInterval: Duration?

    private let address: UnixAddress?

    /// Variables that say where the manager listens; they are this process's business, not that of programs it starts.
    static let variables: Set<String> = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]

    /// The manager that this process's environment names: `NOTIFY_SOCKET`, a path or an abstract name that begins with
    /// `@`; `WATCHDOG_USEC` and `WATCHDOG_PID`.
    public init() {
        self.init(process: getpid()) { name in unsafe getenv(name).map { unsafe String(cString: $0) } }
    }

    init(process: pid_t, environment: (String) -> String?) {
        let socket = environment("NOTIFY_SOCKET") ?? ""
        if socket.hasPrefix("@") {
            address = UnixAddress(abstract: String(socket.dropFirst()))
        } else {
            address = socket.hasPrefix("/") ? UnixAddress(path: socket) : nil
        }
        // A watchdog may be meant for another process, which handed its environment down.
        let isOurs = environment("WATCHDOG_PID").map { $0 == String(process) } ?? true
        let time = environment("WATCHDOG_USEC").flatMap { Int64($0) } ?? 0
        watchdogInterval = isOurs && time > 0 && address != nil ? .microseconds(time) / 2 : nil
    }

    /// Whether there is a manager to tell.
    public var isPresent: Bool { address != nil }

    // MARK: Telling

    /// The process does its work from now on.
    public func ready() { send("READY=1") }

    /// The process has begun to stop.
    public func stopping() { send("STOPPING=1") }

    /// How the process is doing, in a line for people; `systemctl status` shows it.
    public func status(_ text: String) { send("STATUS=\(EscapedText(text))") }

    /// The process is alive; due at every ``watchdogInterval``.
    public func alive() { send("WATCHDOG=1") }

    /// Tells that the process is alive for as long as it makes progress, until the task is cancelled.
    ///
    /// It returns at once when no watchdog is set. Once there is no progress nothing is told, and the manager ends the
    /// process, unless there is progress again before.
    ///
    /// - Parameters:
    ///   - clock: tells when it is due.
    ///   - makesProgress: whether the process does what it is there for; asked each time, and to be answered at once.
    public func keepAlive(
        clock: any ReceiverClock = SystemClock(), while makesProgress: @escaping @Sendable () -> Bool
    ) async {
        guard let watchdogInterval else { return }
        while !Task.isCancelled {
            if makesProgress() { alive() }
            do { try await clock.sleep(until: clock.now.advanced(by: watchdogInterval)) } catch { return }
        }
    }

    private func send(_ text: String) {
        guard let address else { return }
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        // The manager's queue may be full for a moment; it must not hold us up for longer.
        var limit = timeval(tv_sec: 0, tv_usec: 100_000)
        _ = unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout.size(ofValue: limit)))
        let bytes = Array(text.utf8)
        _ = unsafe address.withPointer { address, length in
            retrying { unsafe sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), address, length) }
        }
    }
}
