import CLibrary

/// Runs a program to its end, within a time limit, without input and output.
package enum ChildProcess {
    /// How a program ended.
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
