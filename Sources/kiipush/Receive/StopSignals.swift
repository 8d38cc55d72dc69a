import Dispatch
import Glibc
import Synchronization

/// The signals that ask a program to stop: SIGTERM, and SIGINT of a terminal.
///
/// Dispatch waits for them, since it keeps the main thread for itself, with all signals open.
final class StopSignals {
    private let sources: [any DispatchSourceSignal]

    /// Calls `stop` for the first of them; the second one ends the process with exit code 1.
    ///
    /// - Parameter stop: called on a thread of its own.
    init(_ stop: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "signals")
        let first = FirstCall(stop)
        sources = [SIGTERM, SIGINT].map { signal in
            let source = DispatchSource.makeSignalSource(signal: signal, queue: queue)
            source.setEventHandler { if !first.make() { exitProcess(.failed) } }
            source.resume()
            return source
        }
    }

    deinit {
        for source in sources { source.cancel() }
    }
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
