import Glibc

/// Does work that blocks on a thread of its own, so that it holds up no task but the caller's.
package func withThread<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        let start = Work { continuation.resume(returning: work()) }
        var thread = pthread_t()
        // The thread takes over the reference that is retained here.
        let context = unsafe Unmanaged.passRetained(start).toOpaque()
        let error = unsafe pthread_create(
            &thread, nil,
            { context in
                if let context = unsafe context { unsafe Unmanaged<Work>.fromOpaque(context).takeRetainedValue().run() }
                return nil
            }, context)
        if error == 0 {
            pthread_detach(thread)
        } else {
            // No thread to be had; better late here than never.
            unsafe Unmanaged<Work>.fromOpaque(context).takeRetainedValue().run()
        }
    }
}

/// A closure as an object, since C passes on a pointer.
private final class Work: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}
