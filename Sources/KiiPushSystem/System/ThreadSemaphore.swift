import CLibrary

/// Lets a thread sleep until another one has work for it; a raise without a waiter counts for the next wait.
@safe
// The semaphore supports several threads, and nothing else of this object changes.
package final class ThreadSemaphore: @unchecked Sendable {
    // A semaphore must not move, so it has its own allocation for the lifetime of this object.
    private let semaphore: UnsafeMutablePointer<sem_t>

    /// Makes one that is not raised.
    package init() {
        unsafe semaphore = .allocate(capacity: 1)
        unsafe semaphore.initialize(to: sem_t())
        unsafe sem_init(semaphore, 0, 0)
    }

    deinit {
        unsafe sem_destroy(semaphore)
        unsafe semaphore.deallocate()
    }

    /// Wakes one thread.
    package func raise() { unsafe _ = sem_post(semaphore) }

    /// Blocks until it is raised, and returns true, or the time has passed by the wall clock; a signal or a clock
    /// change may end it early.
    package func wait(for limit: Duration) -> Bool {
        var end = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &end)
        let (seconds, attoseconds) = limit.components
        let nanoseconds = Int64(end.tv_nsec) + attoseconds / 1_000_000_000
        end.tv_sec += Int(seconds + nanoseconds / 1_000_000_000)
        end.tv_nsec = Int(nanoseconds % 1_000_000_000)
        return unsafe sem_timedwait(semaphore, &end) == 0
    }
}
