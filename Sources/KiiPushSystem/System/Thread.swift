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
    var thread = pthread_t()
    // The thread takes ownership of the reference that is retained here.
    let context = unsafe Unmanaged.passRetained(Work(work)).toOpaque()
    let error = unsafe pthread_create(
        &thread, nil,
        { context in
            if let context = unsafe context { unsafe Unmanaged<Work>.fromOpaque(context).takeRetainedValue().run() }
            return nil
        }, context)
    if error == 0 {
        pthread_detach(thread)
    } else {
        unsafe Unmanaged<Work>.fromOpaque(context).takeRetainedValue().run()
    }
}

/// A closure as an object, since the C function passes a pointer.
private final class Work: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}
