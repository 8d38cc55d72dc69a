import Glibc
import Synchronization

/// A program that is run to its end, within a time limit, with neither input nor output.
enum ChildProcess {
    /// How a program ended.
    enum End: Equatable {
        case exited(Int32)
        case signaled(Int32)
        /// It was killed, since its time was over.
        case timedOut
    }

    /// Runs a program and blocks until it has ended.
    ///
    /// - Parameters:
    ///   - program: its path, or its name on `PATH` when it has no slash.
    ///   - arguments: what follows the program's name in the argument vector; no text may hold NUL.
    ///   - limit: how long it may run, at most an hour.
    /// - Returns: how it ended.
    /// - Throws: why it was not started or not waited for.
    static func run(_ program: String, _ arguments: [String], limit: Duration) throws(ErrorNumber) -> End {
        guard !program.utf8.contains(0), !program.isEmpty else { throw ErrorNumber(rawValue: ENOENT) }
        // A pair of sockets serves as the pipe: it is closed on exec from the first, whatever another thread starts.
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw .current }
        let (readEnd, writeEnd) = (ends[0], ends[1])
        defer { close(readEnd) }
        let process: pid_t
        do throws(ErrorNumber) { process = try spawn(program, [program] + arguments) } catch {
            close(writeEnd)
            throw error
        }
        let hasEnded = try waitForEnd(process, readEnd, writeEnd, min(max(limit, .zero), .seconds(3_600)))
        var status: Int32 = 0
        guard retrying({ unsafe waitpid(process, &status, 0) }) == process else { throw .current }
        let signal = status & 0x7f
        // It may have ended by itself just before it was killed.
        if !hasEnded, signal == SIGKILL { return .timedOut }
        return signal == 0 ? .exited(status >> 8 & 0xff) : .signaled(signal)
    }

    private static func spawn(_ program: String, _ vector: [String]) throws(ErrorNumber) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for descriptor in 0...2 as ClosedRange<Int32> {
            let mode = descriptor == 0 ? O_RDONLY : O_WRONLY
            unsafe posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", mode, 0)
        }
        var attributes = defaultSignals()
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        // The copies live until the call has returned; by then the program has its own.
        var copies = unsafe vector.map { unsafe strdup($0) } + [nil]
        defer { unsafe copies.forEach { unsafe free($0) } }
        var process: pid_t = 0
        let error = startingPrograms.withLock { _ in
            unsafe posix_spawnp(&process, program, &actions, &attributes, &copies, environ)
        }
        guard error == 0 else { throw ErrorNumber(rawValue: error) }
        return process
    }

    /// Attributes that let every signal through again: the threads that tasks run on block them all, and a program
    /// inherits that.
    private static func defaultSignals() -> posix_spawnattr_t {
        var attributes = posix_spawnattr_t()
        var (all, none) = (sigset_t(), sigset_t())
        unsafe sigfillset(&all)
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_init(&attributes)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        return attributes
    }
}

// MARK: - Waiting

/// What the thread that waits for a program is told.
private struct Watch {
    let process: pid_t
    let writeEnd: Int32
}

extension ChildProcess {
    /// Blocks until a program has ended and can be reaped; kills it when its time is over.
    ///
    /// A thread waits for the program and then closes the pipe; here the pipe is polled, which has a time limit. The
    /// program itself does not get the pipe: it could close it and run on, or hand it down and end.
    ///
    /// - Returns: whether the program ended before its time was over.
    /// - Throws: why there is no thread; the program is gone then.
    private static func waitForEnd(
        _ process: pid_t, _ readEnd: Int32, _ writeEnd: Int32, _ limit: Duration
    ) throws(ErrorNumber) -> Bool {
        var watch = Watch(process: process, writeEnd: writeEnd)
        return try unsafe withUnsafeMutablePointer(to: &watch) { watch throws(ErrorNumber) in
            var thread = pthread_t()
            // The thread is joined before `watch` goes.
            let error = unsafe pthread_create(&thread, nil, { unsafe watchUntilEnd($0) }, watch)
            guard error == 0 else {
                close(writeEnd)
                kill(process, SIGKILL)
                _ = retrying { waitpid(process, nil, 0) }
                throw ErrorNumber(rawValue: error)
            }
            let hasEnded = isHungUp(readEnd, within: limit)
            // The program is not reaped yet, so its id cannot be another's.
            if !hasEnded { kill(process, SIGKILL) }
            pthread_join(thread, nil)
            return hasEnded
        }
    }

    /// Whether the other end of a pipe is closed before the time is over.
    private static func isHungUp(_ descriptor: Int32, within limit: Duration) -> Bool {
        let deadline = ContinuousClock.now + limit
        while true {
            let left = ContinuousClock.now.duration(to: deadline)
            let milliseconds = max(0, left / .milliseconds(1)).rounded(.up)
            var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let count = unsafe Glibc.poll(&poll, 1, Int32(milliseconds))
            if count > 0 { return true }
            if count < 0 && errno != EINTR || left <= .zero { return false }
        }
    }
}

private func watchUntilEnd(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let watch = unsafe context?.load(as: Watch.self) else { return nil }
    var information = unsafe siginfo_t()
    // Not reaped here: until then nobody else can have the id, and it is safe to kill.
    _ = retrying { unsafe waitid(P_PID, id_t(watch.process), &information, WEXITED | WNOWAIT) }
    close(watch.writeEnd)
    return nil
}
