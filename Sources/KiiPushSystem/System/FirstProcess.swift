import CLibrary
import Synchronization

/// The first process of a container, which the system makes the parent of all orphans there.
package enum FirstProcess {
    /// The child's process id; 0 before it is started.
    private static let child = Atomic<Int32>(0)
    /// The last signal that came before it was started; 0 for none.
    private static let early = Atomic<Int32>(0)

    /// Runs this program once more as a child, and reaps every other process that ends; blocks until the child ends.
    ///
    /// The child gets the signals that end or notify a service. Not in this process itself: a thread that waits for
    /// any child would reap programs whose end other threads wait for. Returns the child's exit status, or 128 and the
    /// signal that ended it; nil if this is not the first process, or no child can be started.
    package static func run(_ arguments: [String]) -> Int32? {
        guard getpid() == 1, let program = unsafe realpath("/proc/self/exe", nil) else { return nil }
        defer { unsafe free(program) }
        _ = (child.load(ordering: .relaxed), early.load(ordering: .relaxed))
        let signals = [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2]
        for number in signals { _ = signal(number, pass) }
        do throws(ErrorNumber) {
            let process = try RunningProcess(
                [unsafe String(cString: program)] + arguments,
                .init(streams: [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO], inheritsAll: true))
            let id = process.id
            process.leave()
            child.store(id, ordering: .sequentiallyConsistent)
            let signal = early.load(ordering: .sequentiallyConsistent)
            if signal != 0 { kill(id, signal) }
            return end(of: id)
        } catch {
            for number in signals { _ = signal(number, SIG_DFL) }
            return nil
        }
    }

    /// Reaps all children until this one ends.
    private static func end(of child: pid_t) -> Int32 {
        while true {
            var status: Int32 = 0
            let ended = retrying { unsafe waitpid(-1, &status, 0) }
            if ended < 0 { return 1 }
            if ended == child { return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F }
        }
    }

    private static let pass: @convention(c) (Int32) -> Void = { number in
        let child = FirstProcess.child.load(ordering: .sequentiallyConsistent)
        if child > 0 {
            kill(child, number)
        } else {
            FirstProcess.early.store(number, ordering: .sequentiallyConsistent)
        }
    }
}
