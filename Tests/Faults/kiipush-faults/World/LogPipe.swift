import Dispatch
import Glibc
import Synchronization

/// A named pipe between what agents say and the file that keeps it, which can be blocked.
final class LogPipe: Sendable {
    let path: String
    private let pipe: Int32
    private let file: Int32
    private let state = Mutex((isBlocked: false, isOver: false))

    /// Makes a pipe at a path, whose words are added to a file.
    init(_ path: String, to log: String) throws {
        self.path = path
        guard mkfifo(path, 0o600) == 0 else { throw Trouble("\(path): \(text())") }
        // Open at both ends, so that it outlives every agent.
        pipe = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        file = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard pipe >= 0, file >= 0 else { throw Trouble("\(path): \(text())") }
        DispatchQueue(label: "log").async { self.work() }
    }

    /// Fills the pipe, and reads no more.
    func block() {
        state.withLock { state in
            state.isBlocked = true
            let lines = [UInt8](repeating: UInt8(ascii: "\n"), count: 4096)
            while write(pipe, lines, lines.count) > 0 {}
            while write(pipe, lines, 1) > 0 {}
        }
    }

    func unblock() { state.withLock { $0.isBlocked = false } }

    /// Ends its thread.
    func stop() { state.withLock { $0.isOver = true } }

    private func work() {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        while !state.withLock({ $0.isOver }) {
            let count = state.withLock { $0.isBlocked ? -1 : read(pipe, &bytes, bytes.count) }
            // What it was filled with is not the agents'.
            let said = bytes[..<max(count, 0)].drop { $0 == UInt8(ascii: "\n") }
            if !said.isEmpty { _ = write(file, Array(said), said.count) }
            if count <= 0 { usleep(2000) }
        }
        close(pipe)
        close(file)
    }
}
