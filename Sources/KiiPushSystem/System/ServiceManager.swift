package import CLibrary
public import KiiPush

/// Notifies the service manager, systemd, that started this process: that it is ready, its status, that it is alive.
///
/// ```swift
/// let manager = ServiceManager()
/// manager.ready()
/// ```
///
/// It implements the `sd_notify` protocol with one datagram per call, without a library. Without a manager, as on a
/// terminal, the calls do nothing. None blocks longer than a tenth of a second. A unit that uses it has `Type=notify`,
/// and `WatchdogSec=` for the watchdog.
public struct ServiceManager: Sendable {
    /// How often to call ``alive()``: half the watchdog's timeout; nil if no watchdog is set.
    package let watchdogInterval: Duration?

    private let address: UnixAddress?

    /// Variables for this process only, which programs that it starts do not inherit.
    package static let variables: Set<String> = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]

    /// The manager of this process's environment: `NOTIFY_SOCKET`, a path or an abstract name that begins with `@`;
    /// `WATCHDOG_USEC` and `WATCHDOG_PID`.
    public init() {
        self.init(process: getpid(), environment: environmentVariable)
    }

    package init(process: pid_t, environment: (String) -> String?) {
        let socket = environment("NOTIFY_SOCKET") ?? ""
        if socket.hasPrefix("@") {
            address = UnixAddress(abstract: String(socket.dropFirst()))
        } else {
            address = socket.hasPrefix("/") ? UnixAddress(path: socket) : nil
        }
        // A watchdog may be meant for another process, from which this one inherited its environment.
        let isOurs = environment("WATCHDOG_PID").map { $0 == String(process) } ?? true
        let time = environment("WATCHDOG_USEC").flatMap { Int64($0) } ?? 0
        watchdogInterval = isOurs && time > 0 && address != nil ? .microseconds(time) / 2 : nil
    }

    /// Whether there is a manager to notify.
    package var isPresent: Bool { address != nil }

    /// The process is ready.
    public func ready() { send("READY=1") }

    /// The process has begun to stop.
    public func stopping() { send("STOPPING=1") }

    /// The status for people, on one line; `systemctl status` shows it.
    public func status(_ text: String) { send("STATUS=\(EscapedText(text))") }

    /// The process is alive; call it every ``watchdogInterval``.
    package func alive() { send("WATCHDOG=1") }

    /// Reports that the process is alive as long as it makes progress, until the task is cancelled.
    ///
    /// It returns at once without a watchdog. Without progress it reports nothing, and the manager ends the process,
    /// unless progress resumes first. `makesProgress` is called each time, and must return at once.
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
        // The manager's queue may be full for a moment; it must not block this process for longer.
        _ = address?.send(Array(text.utf8), limit: .milliseconds(100))
    }
}
