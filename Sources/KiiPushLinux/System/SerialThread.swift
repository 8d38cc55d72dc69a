import Synchronization

/// Does work that blocks, one piece after another, on a thread of its own, so that it holds up no task but the
/// caller's.
///
/// The thread begins with the first piece and ends when there was none for a while: work that comes often does not pay
/// for a thread each time. Signals of broken pipes are blocked on it.
final class SerialThread: Sendable {
    private struct State {
        var pieces: [@Sendable () -> Void] = []
        var isRunning = false
    }

    private let rest: Duration
    private let state = Mutex(State())
    private let work = ThreadSemaphore()

    /// Begins without a thread, which rests for so long without work before it ends.
    init(rest: Duration = .seconds(1)) { self.rest = rest }

    /// Does a piece of work behind all that came before, and returns its result.
    func run<Result: Sendable>(_ piece: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            let isRunning = state.withLock { state in
                state.pieces.append { continuation.resume(returning: piece()) }
                defer { state.isRunning = true }
                return state.isRunning
            }
            if isRunning { work.raise() } else { startThread { self.serve() } }
        }
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

    /// Ends the thread; false when there is work for it after all.
    private func ends() -> Bool {
        state.withLock { state in
            state.isRunning = !state.pieces.isEmpty
            return !state.isRunning
        }
    }
}
