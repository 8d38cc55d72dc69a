import CLibrary

/// The limit of open files, and how many programs can run at once within it.
package enum DescriptorLimit {
    /// The descriptors that an agent needs besides programs: its own files, 16 clients of a socket, 8 of its control
    /// socket, and a reserve.
    package static let beside = 64
    /// The descriptors that programs and clients leave free: Swift's Dispatch sometimes opens one to monitor its
    /// threads, and ends the process if it cannot.
    package static let reserve = 8
    /// The descriptors of a program while it is started: pipes, signals and sockets.
    package static let perProgram = 12

    private static let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)

    private static var current: rlimit? {
        var limit = rlimit()
        return unsafe getrlimit(kind, &limit) == 0 ? limit : nil
    }

    /// Raises this process's own limit if needed and allowed, so that many programs can run; returns how many can, at
    /// least one.
    package static func makeRoom(for programs: Int) -> Int {
        guard var limit = current else { return programs }
        let needed = rlim_t(beside + perProgram * min(max(programs, 1), 1 << 20))
        if limit.rlim_cur < needed {
            var raised = limit
            raised.rlim_cur = min(needed, limit.rlim_max)
            if unsafe setrlimit(Self.kind, &raised) == 0 { limit = raised }
        }
        return fitting(programs, Int(min(limit.rlim_cur, rlim_t(Int32.max))))
    }

    /// The two descriptors that a call makes, which returns 0; `EMFILE` if they do not leave the reserve free.
    package static func pair(_ make: (inout [Int32]) -> Int32) throws(ErrorNumber) -> (Int32, Int32) {
        var ends: [Int32] = [-1, -1]
        guard make(&ends) == 0 else { throw .current }
        guard isBelowReserve(max(ends[0], ends[1])) else {
            for end in ends { close(end) }
            throw ErrorNumber(rawValue: EMFILE)
        }
        return (ends[0], ends[1])
    }

    /// Two connected sockets that close on exec; where a pipe would do, too, since not every system has `pipe2`.
    package static func socketPair(_ flags: Int32 = 0) throws(ErrorNumber) -> (Int32, Int32) {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue) | flags
        return try pair { unsafe socketpair(AF_UNIX, kind, 0, &$0) }
    }

    /// Whether a newly opened descriptor leaves the reserve free: the system assigns the lowest free number.
    private static func isBelowReserve(_ descriptor: Int32) -> Bool {
        guard let limit = current else { return true }
        return UInt64(max(descriptor, 0)) + UInt64(reserve) < UInt64(limit.rlim_cur)
    }

    /// Checks that the next descriptor will leave the reserve free, given any open one.
    ///
    /// - Throws: `EMFILE` if it would not; the system's error if it has none at all.
    package static func checkReserve(_ descriptor: Int32) throws(ErrorNumber) {
        let next = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard next >= 0 else { throw .current }
        close(next)
        guard isBelowReserve(next) else { throw ErrorNumber(rawValue: EMFILE) }
    }

    /// Raises the limit of open files if needed and allowed; returns it if this process cannot start with it.
    package static func lackForStart() -> Int? {
        _ = makeRoom(for: 1)
        guard let limit = current else { return nil }
        let next = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)
        if next >= 0 { close(next) }
        let open = next >= 0 ? UInt64(next) : UInt64(limit.rlim_cur)
        return open + UInt64(forStart) <= UInt64(limit.rlim_cur) ? nil : Int(clamping: limit.rlim_cur)
    }

    /// The descriptors that an agent opens at its start, including the reserve.
    private static let forStart = 29

    /// How many of these programs can run with this many descriptors.
    package static func fitting(_ programs: Int, _ descriptors: Int) -> Int {
        min(programs, max((descriptors - beside) / perProgram, 1))
    }
}
