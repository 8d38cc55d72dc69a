import Glibc

/// How many files this process may have open, and how many programs it can run at once with them.
package enum DescriptorLimit {
    /// What an agent needs beside the programs: its own files, 16 clients of a socket, 4 of its control socket, and
    /// what is left to others.
    static let beside = 64
    /// What programs and clients leave to the rest of the process, of the files that it may have open.
    ///
    /// Swift's Dispatch opens one now and then to see how its threads do, and ends the process when it cannot.
    static let reserve = 8
    /// What a program needs while it is started, pipes, signals and sockets.
    static let perProgram = 12

    /// Sees to it that so many programs can run at once: raises this process's own limit as far as that takes, and the
    /// system lets it.
    ///
    /// - Parameter programs: how many are to run at once.
    /// - Returns: how many can; at least one, and no more than asked for.
    package static func makeRoom(for programs: Int) -> Int {
        var limit = rlimit()
        let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard unsafe getrlimit(kind, &limit) == 0 else { return programs }
        let needed = rlim_t(beside + perProgram * programs)
        if limit.rlim_cur < needed {
            var raised = limit
            raised.rlim_cur = min(needed, limit.rlim_max)
            if unsafe setrlimit(kind, &raised) == 0 { limit = raised }
        }
        return fitting(programs, Int(min(limit.rlim_cur, rlim_t(Int32.max))))
    }

    /// Whether a descriptor that was just opened is none of the reserve: the system gives the lowest number that is
    /// free.
    static func isBelowReserve(_ descriptor: Int32) -> Bool {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return true }
        return UInt64(max(descriptor, 0)) + UInt64(reserve) < UInt64(limit.rlim_cur)
    }

    /// Makes sure that the next descriptor will be none of the reserve.
    ///
    /// - Parameter descriptor: any that is open.
    /// - Throws: `EMFILE` when it would be; why the system has none at all.
    static func checkReserve(_ descriptor: Int32) throws(ErrorNumber) {
        let next = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard next >= 0 else { throw .current }
        close(next)
        guard isBelowReserve(next) else { throw ErrorNumber(rawValue: EMFILE) }
    }

    /// Whether this process can begin: raises its limit as far as that takes, and the system lets it.
    ///
    /// - Returns: nil when it can, else how many files it may have open.
    package static func lackForStart() -> Int? {
        _ = makeRoom(for: 1)
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        let next = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)
        if next >= 0 { close(next) }
        // One that has no standard error has no such number, and begins with the first ones.
        let open = next >= 0 || errno == EBADF ? UInt64(max(next, 3)) : UInt64(limit.rlim_cur)
        return open + UInt64(forStart) <= UInt64(limit.rlim_cur) ? nil : Int(clamping: limit.rlim_cur)
    }

    /// What an agent opens at its start, the reserve counted.
    private static let forStart = 29

    /// How many of so many programs can run with so many descriptors.
    static func fitting(_ programs: Int, _ descriptors: Int) -> Int {
        min(programs, max((descriptors - beside) / perProgram, 1))
    }
}
