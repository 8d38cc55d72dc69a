/// Starts a thread, and returns at once; nobody waits for its end.
///
/// The thread blocks all signals, since the program handles those itself.
///
/// - Parameter work: the thread's work.
/// - Returns: false if no thread could be started, and the work was not done.
package func createThread(_ work: @escaping @Sendable () -> Void) -> Bool {
    var thread = pthread_t()
    // The thread takes ownership of the reference that is retained here.
    let context = unsafe Unmanaged.passRetained(Work(work))
    // The calls read or fill in both, and keep no reference; the new thread inherits the mask.
    var (all, before) = (sigset_t(), sigset_t())
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_BLOCK, &all, &before)
    defer { unsafe _ = pthread_sigmask(SIG_SETMASK, &before, nil) }
    let error = unsafe pthread_create(
        &thread, nil,
        { context in
            if let context = unsafe context { unsafe Unmanaged<Work>.fromOpaque(context).takeRetainedValue().run() }
            return nil
        }, context.toOpaque())
    guard error == 0 else {
        unsafe context.release()
        return false
    }
    pthread_detach(thread)
    return true
}

/// A closure as an object, since the C function passes a pointer.
private final class Work: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}
