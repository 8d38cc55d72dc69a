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
/// Keep it as long as the program is to be stopped that way; after its release the signals do again what they did
/// before. The first signal calls the closure, a later one ends the process at once with exit code 1; within 100 ms
/// both count as one, since `timeout`, or a program that passes on what its terminal sends to all, signals twice.
/// Programs that are started meanwhile are not affected. Make it before any other code waits for these signals.
public final class StopSignals {
    private let signals: [CaughtSignal]

    /// Starts to wait for the signals; when it returns, they are caught.
    ///
    /// - Parameter stop: called once, on a thread of Dispatch.
    public init(_ stop: @escaping @Sendable () -> Void) {
        let firstAt = Mutex<ContinuousClock.Instant?>(nil)
        let action: @Sendable () -> Void = {
            let now = ContinuousClock.now
            let first = firstAt.withLock { first in
                defer { first = first ?? now }
                return first
            }
            guard let first else { return stop() }
            // Not `exit`, which would clean up resources that other threads use.
            if first.duration(to: now) > .milliseconds(100) { _exit(1) }
        }
        signals = [SIGTERM, SIGINT].map { CaughtSignal($0, action) }
    }
}

/// A signal that is caught until this is released, and then does again what it did before.
package final class CaughtSignal {
    /// What a signal did before it was caught, and what it does while it is.
    private struct Actions {
        var before: sigaction
        let caught: sigaction
        /// How many wait for it.
        var waiting = 0
    }

    // Dispatch catches a signal once in a process, and never lets go of it: it would do nothing from then on.
    private static let actions = Mutex<[Int32: Actions]>([:])

    private let signal: Int32
    // Dispatch waits for it, since it keeps the main thread for itself, with all signals unblocked.
    private let source: any DispatchSourceSignal

    /// Starts to wait for a signal; the action is called for each, on a thread of Dispatch.
    package init(_ signal: Int32, _ action: @escaping @Sendable () -> Void) {
        self.signal = signal
        let source = DispatchSource.makeSignalSource(signal: signal, queue: DispatchQueue(label: "kiipush.signal"))
        self.source = source
        source.setEventHandler { action() }
        // Dispatch installs it on its queue, some time after this.
        let isCaught = DispatchSemaphore(value: 0)
        source.setRegistrationHandler { isCaught.signal() }
        Self.actions.withLock { all in
            let before = Self.action(of: signal)
            source.resume()
            isCaught.wait()
            var actions = all[signal] ?? Actions(before: before, caught: Self.action(of: signal))
            if actions.waiting == 0 {
                actions.before = before
                Self.setAction(actions.caught, of: signal)
            }
            actions.waiting += 1
            all[signal] = actions
        }
    }

    deinit {
        Self.actions.withLock { all in
            guard var actions = all[signal] else { return }
            actions.waiting -= 1
            if actions.waiting == 0 { Self.setAction(actions.before, of: signal) }
            all[signal] = actions
        }
        source.cancel()
    }

    private static func action(of signal: Int32) -> sigaction {
        var action = sigaction()
        _ = unsafe sigaction(signal, nil, &action)
        return action
    }

    private static func setAction(_ action: sigaction, of signal: Int32) {
        var action = action
        _ = unsafe sigaction(signal, &action, nil)
    }
}
