import Glibc
import KiiPushLinux

/// The signals that ask a program to stop: SIGTERM, and SIGINT of a terminal.
///
/// They are blocked in all threads and waited for by one, so that no handler runs in the middle of anything.
struct StopSignals {
    private static let signals = [SIGTERM, SIGINT]

    /// Blocks them in this thread and in those that it starts; call it before there are others.
    static func block() {
        var set = makeSet()
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Waits for the first of them and calls `stop`; the second one ends the process with exit code 1.
    ///
    /// The thread that waits is there until the process ends.
    static func wait(_ stop: @escaping @Sendable () -> Void) {
        Task {
            await withThread {
                var set = makeSet()
                var signal: Int32 = 0
                while unsafe sigwait(&set, &signal) != 0 {}
                stop()
                while unsafe sigwait(&set, &signal) != 0 {}
                exitProcess(.failed)
            }
        }
    }

    private static func makeSet() -> sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for signal in signals { unsafe _ = sigaddset(&set, signal) }
        return set
    }
}
