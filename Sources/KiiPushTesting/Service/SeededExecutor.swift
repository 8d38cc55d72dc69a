import Synchronization

/// Runs tasks one at a time on the calling thread, in an order that a seed chooses.
///
/// Concurrent tasks may be interleaved in any order, so each seed is another schedule, and the same seed is the same
/// schedule.
package final class SeededExecutor: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var dice: SeededGenerator
    }

    private let state: Mutex<State>

    /// Makes an executor whose order a seed chooses.
    package init(seed: UInt64) { state = Mutex(State(dice: SeededGenerator(seed: seed))) }

    /// Adds a job of a task that can go on; it runs when ``runOne()`` chooses it.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.jobs.append(job) }
    }

    /// Runs one job of a ready task; false if there is none.
    package func runOne() -> Bool {
        let job: UnownedJob? = state.withLock { state in
            if state.jobs.isEmpty { return nil }
            let index = Int(state.dice.next() % UInt64(state.jobs.count))
            state.jobs.swapAt(index, state.jobs.count - 1)
            return state.jobs.removeLast()
        }
        guard let job else { return false }
        // Safe: each job is enqueued once, and removed before it runs.
        unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        return true
    }

    /// Starts a task on it.
    @discardableResult
    package func start(_ body: sending @escaping @isolated(any) () async -> Void) -> Task<Void, Never> {
        Task(executorPreference: self, operation: body)
    }
}
