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
        let first = FirstCall(stop)
        let isCaught = DispatchSemaphore(value: 0)
        sources = [SIGTERM, SIGINT].map { signal in
            let source = DispatchSource.makeSignalSource(signal: signal, queue: queue)
            // Ends at once: `exit` would clean up resources that other threads use, and one of them may already be in
            // it.
            source.setEventHandler { if !first.make() { _exit(1) } }
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

/// SIGHUP, with which an operator asks a program to reload its files, and which would otherwise end it.
///
/// Keep it as long as the program runs; after its release the signal is still caught, but does nothing.
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

/// Calls a closure once.
private final class FirstCall: Sendable {
    private let action: @Sendable () -> Void
    private let isMade = Atomic<Bool>(false)

    init(_ action: @escaping @Sendable () -> Void) { self.action = action }

    /// Calls it unless it was called before; returns whether it did.
    func make() -> Bool {
        guard !isMade.exchange(true, ordering: .relaxed) else { return false }
        action()
        return true
    }
}
