import Dispatch
import Glibc
import Synchronization

/// The signals that ask a program to stop: SIGTERM, and SIGINT of a terminal.
///
/// ```swift
/// let running = Task { try await service.run() }
/// let signals = StopSignals { running.cancel() }
/// ```
///
/// Keep it for as long as the program runs; when it is released, the signals are still caught, and do nothing. The
/// first signal calls what it was made with, the second one ends the process at once with exit code 1. Programs that
/// are started meanwhile are none the wiser. Make one a process, before anything else waits for these signals.
public final class StopSignals {
    // Dispatch waits for them, since it keeps the main thread for itself, with all signals open.
    private let sources: [any DispatchSourceSignal]

    /// Begins to wait for the signals.
    ///
    /// - Parameter stop: called once, on a thread of Dispatch.
    public init(_ stop: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "kiipush.signals")
        let first = FirstCall(stop)
        sources = [SIGTERM, SIGINT].map { signal in
            let source = DispatchSource.makeSignalSource(signal: signal, queue: queue)
            // At once: `exit` would clean up what other threads use, and one of them may be in it already.
            source.setEventHandler { if !first.make() { _exit(1) } }
            source.resume()
            return source
        }
    }

    deinit {
        for source in sources { source.cancel() }
    }
}

/// SIGHUP, by which an operator asks a program to read its files anew, and which would end it otherwise.
///
/// Keep it for as long as the program runs; when it is released, the signal is still caught, and does nothing.
package final class HangUpSignal {
    private let source: any DispatchSourceSignal

    /// Begins to wait for the signal.
    ///
    /// - Parameter action: called at each, on a thread of Dispatch.
    package init(_ action: @escaping @Sendable () -> Void) {
        source = DispatchSource.makeSignalSource(signal: SIGHUP, queue: DispatchQueue(label: "kiipush.hangup"))
        source.setEventHandler { action() }
        source.resume()
    }

    deinit { source.cancel() }
}

/// Calls something once.
private final class FirstCall: Sendable {
    private let action: @Sendable () -> Void
    private let isMade = Atomic<Bool>(false)

    init(_ action: @escaping @Sendable () -> Void) { self.action = action }

    /// Calls it, unless it was called; whether it was not.
    func make() -> Bool {
        guard !isMade.exchange(true, ordering: .relaxed) else { return false }
        action()
        return true
    }
}
