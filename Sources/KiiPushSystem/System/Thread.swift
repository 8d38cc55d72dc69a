import CLibrary

/// Runs blocking work on a thread of its own, so that it blocks no task but the caller's.
package func withThread<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        startThread { continuation.resume(returning: work()) }
    }
}

/// Starts a thread for blocking work, and returns at once; nobody waits for its end.
///
/// If no thread can be started, the work runs before this returns: better late than never.
package func startThread(_ work: @escaping @Sendable () -> Void) {
    if !createThread(work) { work() }
}
