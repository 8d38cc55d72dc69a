import Glibc

/// How many files this process may have open, and how many programs it can run at once with them.
package enum DescriptorLimit {
    /// What an agent needs beside the programs: its own files, 16 clients of a socket, 4 of its control socket.
    static let beside = 56
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

    /// How many of so many programs can run with so many descriptors.
    static func fitting(_ programs: Int, _ descriptors: Int) -> Int {
        min(programs, max((descriptors - beside) / perProgram, 1))
    }
}
