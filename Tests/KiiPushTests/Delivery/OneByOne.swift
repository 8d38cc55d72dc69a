import Synchronization
import Testing

/// Runs a test, and all that it starts here, one piece at a time in the order in which the pieces can go on.
///
/// What a test of the service expects to the word, such as the order of two handlers, depends then on no other thread.
/// A test of what holds whatever the order is goes without, so that the thread sanitizer sees threads meet.
struct OneByOne: SuiteTrait, TestTrait, TestScoping {
    /// Runs jobs in their order, one at a time, on whichever thread of the pool is free.
    final class Executor: TaskExecutor {
        private let state = Mutex<(jobs: [UnownedJob], isRunning: Bool)>(([], false))

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            let begins = state.withLock { state in
                state.jobs.append(job)
                defer { state.isRunning = true }
                return !state.isRunning
            }
            if begins { Task.detached { self.run() } }
        }

        private func run() {
            while true {
                let jobs = state.withLock { state in
                    defer { state.jobs = [] }
                    state.isRunning = !state.jobs.isEmpty
                    return state.jobs
                }
                if jobs.isEmpty { return }
                // Safe: each job is enqueued once, and taken out before it runs.
                for job in jobs { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
            }
        }
    }

    /// The executor of the test that runs, where it has one.
    @TaskLocal static var executor: Executor?

    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        let executor = Executor()
        try await Self.$executor.withValue(executor) {
            try await withTaskExecutorPreference(executor) { try await function() }
        }
    }

    /// Starts a task where the test runs.
    static func start<Success: Sendable>(
        _ body: sending @escaping @isolated(any) () async throws -> Success
    ) -> Task<Success, any Error> {
        Task(executorPreference: executor, operation: body)
    }
}

extension Trait where Self == OneByOne {
    static var oneByOne: Self { OneByOne() }
}
