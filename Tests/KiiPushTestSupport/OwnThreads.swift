import KiiPushSystem
import Synchronization
import Testing

/// Runs a test, and all that it starts here, on threads of its own, which the work of no other test keeps waiting.
///
/// On one thread each piece runs in the order in which the pieces can go on: what a test of the service expects to the
/// word, such as the order of two handlers, depends then on nothing else. A test of what holds whatever the order is
/// runs on several, so that the thread sanitizer sees them meet.
struct OwnThreads: SuiteTrait, TestTrait, TestScoping {
    /// Runs jobs in their order, so many at a time; a thread ends when there is no job, and begins when there is one.
    final class Executor: TaskExecutor {
        private let count: Int
        private let state = Mutex<(jobs: [UnownedJob], running: Int)>(([], 0))

        init(count: Int) { self.count = count }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            let begins = state.withLock { state in
                state.jobs.append(job)
                guard state.running < count else { return false }
                state.running += 1
                return true
            }
            if begins { startThread { self.run() } }
        }

        private func run() {
            while let job = next() {
                // Safe: each job is enqueued once, and taken out before it runs.
                unsafe job.runSynchronously(on: asUnownedTaskExecutor())
            }
        }

        private func next() -> UnownedJob? {
            state.withLock { state in
                guard state.jobs.isEmpty else { return state.jobs.removeFirst() }
                state.running -= 1
                return nil
            }
        }
    }

    /// The executor of the test that runs, where it has one.
    @TaskLocal static var executor: Executor?

    let count: Int
    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        let executor = Executor(count: count)
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

extension Trait where Self == OwnThreads {
    /// One piece at a time.
    static var oneByOne: Self { OwnThreads(count: 1) }

    /// Pieces that meet.
    static var onTwoThreads: Self { OwnThreads(count: 2) }
}
