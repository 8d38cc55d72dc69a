import CLibrary
import Dispatch
import Synchronization

/// Runs blocking work on a thread of its own, so that it blocks no task but the caller's.
package func withThread<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        startThread { continuation.resume(returning: work()) }
    }
}

/// Starts a thread for blocking work, and returns at once; if none can be started, the work runs before this returns.
package func startThread(_ work: @escaping @Sendable () -> Void) {
    if !createThread(work) { work() }
}

/// Runs blocking work in sequence on a thread of its own, so that it blocks no task but the caller's.
///
/// The thread starts with the first work and ends after an idle time. It blocks signals of broken pipes.
package final class SerialThread: Sendable {
    private struct State {
        var pieces: [@Sendable () -> Void] = []
        var isRunning = false
    }

    private let rest: Duration
    private let start: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let state = Mutex(State())
    private let work = ThreadSemaphore()

    /// Makes one without a thread yet; `start` starts it, and it ends after the idle time.
    package init(
        rest: Duration = .seconds(1),
        start: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void = { startThread($0) }
    ) { (self.rest, self.start) = (rest, start) }

    /// Runs work after all earlier work, and returns its result.
    package func run<Result: Sendable>(_ piece: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            add { continuation.resume(returning: piece()) }
        }
    }

    /// Has work done after all earlier work, and returns at once, unless no thread can be started.
    package func add(_ piece: @escaping @Sendable () -> Void) {
        let isRunning = state.withLock { state in
            state.pieces.append(piece)
            defer { state.isRunning = true }
            return state.isRunning
        }
        if isRunning { work.raise() } else { start { self.serve() } }
    }

    private func serve() {
        blockBrokenPipeSignal()
        repeat {
            let pieces = state.withLock { state in
                defer { state.pieces = [] }
                return state.pieces
            }
            for piece in pieces { piece() }
        } while work.wait(for: rest) || !ends()
    }

    /// Ends the thread; false if there is work for it after all.
    private func ends() -> Bool {
        state.withLock { state in
            state.isRunning = !state.pieces.isEmpty
            return !state.isRunning
        }
    }
}

/// Lets a thread sleep until another one has work for it; a raise without a waiter counts for the next wait.
package struct ThreadSemaphore: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    package init() {}

    package func raise() { semaphore.signal() }

    /// Blocks until it is raised, and returns true, or the time has passed, on Linux by the wall clock: a clock that is
    /// set changes it.
    package func wait(for limit: Duration) -> Bool {
        semaphore.wait(timeout: .now() + limit / .seconds(1)) == .success
    }
}
