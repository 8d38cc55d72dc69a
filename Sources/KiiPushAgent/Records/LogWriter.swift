import CLibrary
package import KiiPushSystem
import Synchronization

/// Writes log lines on a thread of its own, so that a slow or dead reader blocks nobody.
///
/// Lines that do not fit the queue are dropped and counted. When lines are read again, a line in the place of the
/// dropped ones gives their number. Only bursts of lines wait for room, as ``add(patiently:)`` says.
package final class LogWriter: Sendable {
    private struct State {
        var lines: [JournalLine] = []
        /// How many lines were ever queued, and how many of those are written or dropped.
        var queued = 0
        var taken = 0
        var bytes = 0
        var dropped = 0
        /// How many of the dropped ones are not reported yet.
        var unreported = 0
        /// How many lines were queued before the first of them.
        var unreportedBehind = 0
        var isOver = false
        /// How many threads wait until all queued lines are taken.
        var waiting = 0

        /// Whether a line fits the queue, or the given part of it: 2 for its half.
        func hasRoom(for line: JournalLine, part: Int) -> Bool {
            queued - taken < LogWriter.mostLines / part && bytes + line.size <= LogWriter.mostBytes / part
        }

        mutating func append(_ line: JournalLine) {
            lines.append(line)
            queued += 1
            bytes += line.size
        }

        mutating func drop(behind lines: Int) {
            if unreported == 0 { unreportedBehind = lines }
            dropped += 1
            unreported += 1
        }
    }

    package static let mostLines = 1000
    package static let mostBytes = 256 << 10

    private let state = Mutex(State())
    private let write: @Sendable (JournalLine) -> Bool
    private let shortages: Shortages?
    private let patience: Duration
    private let work = ThreadSemaphore()
    private let room = ThreadSemaphore()
    private let end = ThreadSemaphore()

    /// Starts the thread, which alone calls `write`; that may block, and returns whether the line was written.
    ///
    /// While lines are dropped, there is a `Shortage.Kind.log`. `patience` is how long a line of a burst waits.
    package init(
        shortages: Shortages? = nil, patience: Duration = .seconds(1),
        _ write: @escaping @Sendable (JournalLine) -> Bool
    ) {
        (self.write, self.shortages, self.patience) = (write, shortages, patience)
        startThread { self.run() }
    }

    package var dropped: Int { state.withLock { $0.dropped } }

    /// Queues a line, or drops it; returns at once.
    package func add(_ line: JournalLine) { _ = add(line, part: 1, mayWait: false) }

    /// Queues a line of a burst, such as a program's output, or drops it.
    ///
    /// A burst may fill half of the queue, so that other lines still fit. Then it waits until all lines are taken,
    /// which a plain file or a reader that keeps up does in time. If that takes longer than the patience, its lines are
    /// dropped, and no burst waits again before the number of the dropped lines was written.
    package func add(patiently line: JournalLine) {
        var mayWait = true
        while !add(line, part: 2, mayWait: mayWait) {
            mayWait = room.wait(for: patience)
            if !mayWait { state.withLock { $0.waiting = max($0.waiting - 1, 0) } }
        }
    }

    /// Queues a line, or drops it; returns false if it waits for room instead, which this thread then does.
    private func add(_ line: JournalLine, part: Int, mayWait: Bool) -> Bool {
        let isDropped: Bool? = state.withLock { state in
            if !state.isOver, state.hasRoom(for: line, part: part) {
                state.append(line)
                return false
            }
            if mayWait, !state.isOver, state.unreported == 0 {
                state.waiting += 1
                return nil
            }
            state.drop(behind: state.queued)
            return true
        }
        guard let isDropped else { return false }
        if isDropped { shortages?.begin(.log, "nobody reads it, and lines are dropped") }
        work.raise()
        return true
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
            for line in lines {
                tellDropped()
                take(line)
            }
            if lines.isEmpty {
                tellDropped()
                if isOver { return end.raise() }
                _ = work.wait(for: .seconds(3600))
            }
        }
    }

    private func take(_ line: JournalLine) {
        let isWritten = write(line)
        let waiting = state.withLock { state in
            state.taken += 1
            state.bytes -= line.size
            if !isWritten { state.drop(behind: state.taken) }
            guard state.taken == state.queued else { return 0 }
            defer { state.waiting = 0 }
            return state.waiting
        }
        for _ in 0..<waiting { room.raise() }
        if !isWritten { shortages?.begin(.log, "it cannot be written, and lines are dropped") }
    }

    /// Writes how many lines were dropped, unless already reported.
    private func tellDropped() {
        // After the lines that waited when the queue filled up, and before later ones.
        let (count, hasUnreported) = state.withLock {
            ($0.unreportedBehind <= $0.taken ? $0.unreported : 0, $0.unreported > 0)
        }
        // `add` begins the shortage after its line was dropped, and perhaps after that was told.
        if !hasUnreported { shortages?.end(.log) }
        guard count > 0 else { return }
        let lines = count == 1 ? "line was" : "lines were"
        let text = "kiipush: \(count) \(lines) dropped here, since nobody read the log"
        guard write(JournalLine(.warning, text)) else { return }
        let left = state.withLock { state in
            state.unreported -= count
            return state.unreported
        }
        if left == 0 { shortages?.end(.log) }
    }
}

extension JournalLine {
    /// How many bytes it needs while it waits.
    fileprivate var size: Int { fields.reduce(text.utf8.count) { $0 + $1.name.utf8.count + $1.value.utf8.count } }
}

/// The destination and form of an agent's log lines: the journal with fields, a terminal without priorities, or else
/// lines that begin with `<6>`, as journald and others read them.
package struct LogOutput: Sendable {
    enum Form: Sendable {
        case prefixed
        case plain
        case journal(UnixAddress)
    }

    let form: Form

    package static var standardError: LogOutput {
        LogOutput(descriptor: STDERR_FILENO, journalStream: environmentVariable("JOURNAL_STREAM"))
    }

    /// The form for a descriptor; `JOURNAL_STREAM` names the device and inode of the stream to the journal.
    init(descriptor: Int32, journalStream: String?, journal: String = "/run/systemd/journal/socket") {
        if Self.isJournal(descriptor, journalStream), let address = UnixAddress(path: journal) {
            form = .journal(address)
        } else {
            form = isatty(descriptor) == 1 ? .plain : .prefixed
        }
    }

    /// Whether a descriptor is the stream that systemd connected to the journal.
    private static func isJournal(_ descriptor: Int32, _ stream: String?) -> Bool {
        guard let parts = stream?.split(separator: ":"), parts.count == 2, let device = UInt64(parts[0]),
            let inode = UInt64(parts[1])
        else { return false }
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 && UInt64(status.st_dev) == device
            && UInt64(status.st_ino) == inode
    }

    /// Writes a line, by `write` without a journal or if that refuses it; returns whether it was written.
    package func write(_ line: JournalLine, _ write: (String) -> Bool) -> Bool {
        switch form {
        case .prefixed: write(line.description)
        case .plain: write(line.text)
        // Waits while the journal is behind.
        case .journal(let address): address.send(line.datagram) || write(line.description)
        }
    }
}

extension JournalLine {
    /// The line for the journal's native protocol: a field a line.
    fileprivate var datagram: [UInt8] {
        let lines =
            ["MESSAGE=\(EscapedText(text))", "PRIORITY=\(priority.rawValue)", "SYSLOG_IDENTIFIER=kiipush"]
            + fields.map { "\($0.name)=\($0.value)" }
        return Array((lines.joined(separator: "\n") + "\n").utf8)
    }
}
