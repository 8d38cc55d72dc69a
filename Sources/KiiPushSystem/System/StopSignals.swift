import Dispatch
import CLibrary
import Synchronization

/// The signals that ask a program to stop: SIGTERM, and SIGINT from a terminal.
///
/// ```swift
/// let running = Task { try await service.run() }
/// let signals = StopSignals { running.cancel() }
/// ```
///
/// Keep it as long as the program runs; after its release the signals are still caught, but do nothing. The first
/// signal calls the closure, the second one ends the process at once with exit code 1. Programs that are started
/// meanwhile are not affected. Make one per process, before any other code waits for these signals.
public final class StopSignals {
    // Dispatch waits for them, since it keeps the main thread for itself, with all signals unblocked.
    private let sources: [any DispatchSourceSignal]

    /// Starts to wait for the signals; when it returns, they are caught.
    ///
    /// - Parameter stop: called once, on a thread of Dispatch.
    public init(_ stop: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "kiipush.signals")
        let first = Mutex<(@Sendable () -> Void)?>(stop)
        let isCaught = DispatchSemaphore(value: 0)
        sources = [SIGTERM, SIGINT].map { signal in
            let source = DispatchSource.makeSignalSource(signal: signal, queue: queue)
            // Not `exit`, which would clean up resources that other threads use.
            source.setEventHandler {
                guard let stop = first.withLock({ $0.take() }) else { _exit(1) }
                stop()
            }
            // Dispatch installs it on its queue, some time after this.
            source.setRegistrationHandler { isCaught.signal() }
            source.resume()
            return source
        }
        for _ in sources { isCaught.wait() }
    }

    deinit {
        for source in sources { source.cancel() }
    }
}

/// SIGHUP, with which an operator asks a program to reload its files; keep it as long as the program runs.
package final class HangUpSignal {
    private let source: any DispatchSourceSignal

    /// Starts to wait for the signal; the action is called for each, on a thread of Dispatch.
    package init(_ action: @escaping @Sendable () -> Void) {
        source = DispatchSource.makeSignalSource(signal: SIGHUP, queue: DispatchQueue(label: "kiipush.hangup"))
        source.setEventHandler { action() }
        source.resume()
    }

    deinit { source.cancel() }
}
