import Glibc

/// Does work that blocks on a thread of its own, so that it holds up no task but the caller's.
package func withThread<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        startThread { continuation.resume(returning: work()) }
    }
}

/// Starts a thread of its own for work that blocks, and returns at once; nobody waits for it to end.
///
/// Where there is no thread to be had the work is done before it returns: better late than never.
package func startThread(_ work: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    // The thread takes over the reference that is retained here.
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

/// A closure as an object, since C passes on a pointer.
private final class Work: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}
