package import KiiPushSystem
import Synchronization

/// Writes log lines on a thread of its own, so that a slow or dead reader blocks nobody.
///
/// Lines that do not fit the queue are dropped and counted. When lines are read again, a line in the place of the
/// dropped ones gives their number.
package final class LogWriter: Sendable {
    fileprivate struct State {
        var lines: [JournalLine] = []
        /// How many lines were ever queued, and how many of those are written or dropped.
        var queued = 0
        var taken = 0
        var bytes = 0
        var dropped = 0
        /// How many of the dropped ones are not reported yet.
        var untold = 0
        /// How many lines were queued before the first of them.
        var untoldBehind = 0
        var isOver = false
    }

    /// The most waiting lines.
    package static let mostLines = 1000
    /// The most waiting bytes.
    package static let mostBytes = 256 << 10

    private let state = Mutex(State())
    private let write: @Sendable (JournalLine) -> Bool
    private let shortages: Shortages?
    private let work = ThreadSemaphore()
    private let end = ThreadSemaphore()

    /// Starts the thread, which runs until ``finish(within:)``.
    ///
    /// Only the thread calls `write`, which may block; it returns whether the line was written. While lines are
    /// dropped, there is a `Shortage.Kind.log`.
    package init(shortages: Shortages? = nil, _ write: @escaping @Sendable (JournalLine) -> Bool) {
        self.write = write
        self.shortages = shortages
        startThread { self.run() }
    }

    /// How many lines were dropped.
    package var dropped: Int { state.withLock { $0.dropped } }

    /// Queues a line, or drops it; returns at once.
    package func add(_ line: JournalLine) {
        let isDropped = state.withLock { state in
            if state.isOver || !state.hasRoom(for: line) {
                state.drop()
                return true
            }
            state.append(line)
            return false
        }
        if isDropped { shortages?.begin(.log, "nobody reads it, and lines are dropped") }
        work.raise()
    }

    /// Writes the waiting lines, within a time limit, and drops later ones; returns whether all lines were written.
    @discardableResult
    package func finish(within limit: Duration) -> Bool {
        state.withLock { $0.isOver = true }
        work.raise()
        return end.wait(for: limit)
    }

    private func run() {
        while true {
            let (lines, isOver) = state.withLock { state in
                defer { state.lines = [] }
                return (state.lines, state.isOver)
            }
            tellDropped()
            for line in lines { take(line) }
            if lines.isEmpty {
                if isOver { return end.raise() }
                _ = work.wait(for: .seconds(3600))
            }
        }
    }

    private func take(_ line: JournalLine) {
        let isWritten = write(line)
        state.withLock { state in
            state.taken += 1
            state.bytes -= line.size
            if !isWritten { state.drop() }
        }
        if !isWritten { shortages?.begin(.log, "it cannot be written, and lines are dropped") }
    }

    /// Writes how many lines were dropped, unless already reported.
    private func tellDropped() {
        // After the lines that waited when the queue filled up, and before later ones.
        let count = state.withLock { $0.untoldBehind <= $0.taken ? $0.untold : 0 }
        guard count > 0 else { return }
        let lines = count == 1 ? "line was" : "lines were"
        let text = "kiipush: \(count) \(lines) dropped here, since nobody read the log"
        guard write(JournalLine(.warning, text)) else { return }
        let left = state.withLock { state in
            state.untold -= count
            return state.untold
        }
        if left == 0 { shortages?.end(.log) }
    }
}

extension LogWriter.State {
    fileprivate func hasRoom(for line: JournalLine) -> Bool {
        queued - taken < LogWriter.mostLines && bytes + line.size <= LogWriter.mostBytes
    }

    fileprivate mutating func append(_ line: JournalLine) {
        lines.append(line)
        queued += 1
        bytes += line.size
    }

    fileprivate mutating func drop() {
        if untold == 0 { untoldBehind = queued }
        dropped += 1
        untold += 1
    }
}

extension JournalLine {
    /// How many bytes it needs while it waits.
    fileprivate var size: Int { fields.reduce(text.utf8.count) { $0 + $1.name.utf8.count + $1.value.utf8.count } }
}
