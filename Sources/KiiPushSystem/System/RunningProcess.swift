package import CLibrary
import Synchronization

/// A started program, which the owner must ``reap()``.
package struct RunningProcess: ~Copyable {
    /// The environment of a new program, besides its arguments.
    package struct Surroundings {
        /// The descriptors that become its standard input, output and error; -1 for `/dev/null`.
        let streams: [Int32]
        /// Additional variables, which replace this process's.
        let variables: [String: String]
        /// Variables of this process that the program does not inherit.
        let hidden: Set<String>
        /// Whether it leads its own process group, so that it can be ended together with its descendants.
        let isGroup: Bool
        /// Whether it inherits every descriptor that does not close on exec, and not only its standard ones.
        let inheritsAll: Bool
        /// Whether it is detached: nobody calls ``reap()``, and it is reaped as soon as it ends.
        let isLeft: Bool

        package init(
            streams: [Int32] = [-1, -1, -1], variables: [String: String] = [:], hidden: Set<String> = [],
            isGroup: Bool = false, inheritsAll: Bool = false, isLeft: Bool = false
        ) {
            self.streams = streams
            self.variables = variables
            self.hidden = hidden
            self.isGroup = isGroup
            self.inheritsAll = inheritsAll
            self.isLeft = isLeft
        }
    }

    /// Its process id, which is not reused until it is reaped.
    package let id: pid_t
    /// Readable when the program has ended.
    package let endDescriptor: Int32

    private let isGroup: Bool

    /// Starts a program.
    ///
    /// The vector is the program, by its path or its name on `PATH` if it has no slash, and its arguments.
    ///
    /// - Throws: why it was not started, such as `ENOENT`.
    package init(_ vector: [String], _ surroundings: Surroundings = Surroundings()) throws(ErrorNumber) {
        guard let program = vector.first, !program.isEmpty, !program.utf8.contains(0) else {
            throw ErrorNumber(rawValue: ENOENT)
        }
        let (end, writeEnd) = try DescriptorLimit.socketPair()
        let process: pid_t
        do throws(ErrorNumber) {
            process = try Self.spawn(program, vector, surroundings)
            if !startWaiting(for: process, closing: writeEnd, reaps: surroundings.isLeft) {
                kill(surroundings.isGroup ? -process : process, SIGKILL)
                _ = retrying { waitpid(process, nil, 0) }
                throw ErrorNumber(rawValue: EAGAIN)
            }
        } catch {
            close(end)
            close(writeEnd)
            throw error
        }
        id = process
        endDescriptor = end
        isGroup = surroundings.isGroup
    }

    /// Sends a signal, to the whole group if it leads one.
    package func send(_ signal: Int32) { kill(isGroup ? -id : id, signal) }

    /// Leaves a detached program to itself.
    package consuming func leave() { close(endDescriptor) }

    /// Blocks until the program has ended or the time has passed; returns whether it has ended.
    package func waitForEnd(within limit: Duration) -> Bool {
        let deadline = ContinuousClock.now + limit
        while true {
            let left = ContinuousClock.now.duration(to: deadline)
            var polled = [pollfd(fd: endDescriptor, events: Int16(POLLIN), revents: 0)]
            pollAll(&polled, for: max(left, .zero))
            if polled[0].revents != 0 { return true }
            if left <= .zero { return false }
        }
    }

    /// Blocks until the program has ended, and reaps it.
    ///
    /// - Throws: why its end is unknown, such as `ECHILD` in a process that ignores its children's end.
    package consuming func reap() throws(ErrorNumber) -> ChildProcess.End {
        defer { close(endDescriptor) }
        // The waiting thread must end first, so that it never waits for another program with the same id.
        var polled = [pollfd(fd: endDescriptor, events: Int16(POLLIN), revents: 0)]
        while polled[0].revents == 0 { pollAll(&polled, for: nil) }
        var status: Int32 = 0
        let id = id
        guard retrying({ unsafe waitpid(id, &status, 0) }) == id else { throw .current }
        let signal = status & 0x7f
        return signal == 0 ? .exited(status >> 8 & 0xff) : .signaled(signal)
    }

    // MARK: Starting

    private static func spawn(
        _ program: String, _ vector: [String], _ surroundings: Surroundings
    ) throws(ErrorNumber) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for (number, descriptor) in surroundings.streams.enumerated() {
            let theirs = Int32(number)
            if descriptor >= 0 {
                unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, theirs)
            } else {
                let mode = theirs == STDIN_FILENO ? O_RDONLY : O_WRONLY
                unsafe posix_spawn_file_actions_addopen(&actions, theirs, "/dev/null", mode, 0)
            }
        }
        if !surroundings.inheritsAll {
            for descriptor in inherited { unsafe posix_spawn_file_actions_addclose(&actions, descriptor) }
        }
        var attributes = attributes(isGroup: surroundings.isGroup)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        // The copies live until the call has returned; by then the program has its own.
        var arguments = unsafe vector.map { unsafe strdup($0) } + [nil]
        var variables = unsafe environment(surroundings) + [nil]
        defer { unsafe (arguments + variables).forEach { unsafe free($0) } }
        var process: pid_t = 0
        let error = startingPrograms.withLock { _ in
            unsafe posix_spawnp(&process, program, &actions, &attributes, &arguments, &variables)
        }
        guard error == 0 else { throw ErrorNumber(rawValue: error) }
        return process
    }

    /// The descriptors besides the standard ones that do not close on exec: who started this process may have left some
    /// open, such as a lock, and other code of it may open some.
    private static var inherited: [Int32] {
        (entries(ofDirectory: "/proc/self/fd") ?? []).compactMap { Int32($0) }.filter { descriptor in
            descriptor > STDERR_FILENO && fcntl(descriptor, F_GETFD) & FD_CLOEXEC == 0
        }
    }

    /// Copies of this process's environment, byte for byte, with these variables.
    private static func environment(_ surroundings: Surroundings) -> [UnsafeMutablePointer<CChar>?] {
        var entries = unsafe [UnsafeMutablePointer<CChar>?]()
        let names = surroundings.hidden.union(surroundings.variables.keys).map { "\($0)=" }
        var next = unsafe environ
        while let entry = unsafe next.pointee {
            let isReplaced = names.contains { name in unsafe strncmp(entry, name, name.utf8.count) == 0 }
            if !isReplaced { unsafe entries.append(strdup(entry)) }
            unsafe next = next.advanced(by: 1)
        }
        return unsafe entries + surroundings.variables.map { unsafe strdup("\($0)=\($1)") }
    }

    /// Attributes that unblock all signals: task threads block them all, and a program inherits that.
    private static func attributes(isGroup: Bool) -> posix_spawnattr_t {
        var attributes = posix_spawnattr_t()
        var (all, none) = (sigset_t(), sigset_t())
        unsafe sigfillset(&all)
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_init(&attributes)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        let group = isGroup ? POSIX_SPAWN_SETPGROUP : 0
        unsafe posix_spawnattr_setpgroup(&attributes, 0)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | group))
        return attributes
    }
}

/// Starts a thread that waits for a program's end and then closes a pipe, which can be polled; false if there is none.
///
/// The program itself does not get the pipe: it could close it early, or pass it on and end. If the thread does not
/// reap a detached program, one that waits for any child finds it again and again.
private func startWaiting(for process: pid_t, closing writeEnd: Int32, reaps: Bool) -> Bool {
    createThread {
        var information = unsafe siginfo_t()
        // A program that is not detached is not reaped here: until then its id is not reused, and may get signals.
        _ = retrying { unsafe waitid(P_PID, id_t(process), &information, WEXITED | (reaps ? 0 : WNOWAIT)) }
        close(writeEnd)
    }
}

/// Runs a program to its end, within a time limit, without input and output.
package enum ChildProcess {
    package enum End: Equatable {
        case exited(Int32)
        case signaled(Int32)
        /// It was killed at the time limit.
        case timedOut
    }

    /// Runs a program, by its path or its name on `PATH`, and blocks until it has ended, for at most an hour.
    ///
    /// - Throws: why it was not started or could not be waited for.
    package static func run(_ program: String, _ arguments: [String], limit: Duration) throws(ErrorNumber) -> End {
        let process = try RunningProcess([program] + arguments)
        let hasEnded = process.waitForEnd(within: min(max(limit, .zero), .seconds(3_600)))
        if !hasEnded { process.send(SIGKILL) }
        let end = try process.reap()
        // It may have ended by itself just before it was killed.
        return !hasEnded && end == .signaled(SIGKILL) ? .timedOut : end
    }
}
