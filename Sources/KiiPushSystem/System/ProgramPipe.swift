import CLibrary
package import Synchronization

/// A pipe between this process and a program, since a shell's `>/dev/stdout` cannot open a socket; open ends are closed
/// when it is released.
package struct ProgramPipe: ~Copyable {
    package private(set) var readEnd: Int32
    package private(set) var writeEnd: Int32

    /// Makes a pipe; both ends close on exec.
    package init() throws(ErrorNumber) {
        (readEnd, writeEnd) = try startingPrograms.withLock { _ throws(ErrorNumber) -> (Int32, Int32) in
            let ends = try DescriptorLimit.pair { unsafe pipe(&$0) }
            for end in [ends.0, ends.1] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            return ends
        }
    }

    deinit {
        for end in [readEnd, writeEnd] where end >= 0 { close(end) }
    }

    package mutating func closeReadEnd() {
        if readEnd >= 0 { close(readEnd) }
        readEnd = -1
    }

    package mutating func closeWriteEnd() {
        if writeEnd >= 0 { close(writeEnd) }
        writeEnd = -1
    }

    /// Transfers the write end to the caller, who closes it.
    package mutating func takeWriteEnd() -> Int32 {
        defer { writeEnd = -1 }
        return writeEnd
    }

    /// Makes an end non-blocking for this process; the program's end stays as it is.
    package static func makeNonBlocking(_ end: Int32) { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
}

/// Held while a program is started, and while an inheritable descriptor is open.
///
/// Most calls create descriptors that close on exec from the start; `accept` does not, and Swift's Glibc has no
/// `accept4`.
package let startingPrograms = Mutex<Void>(())
