import CLibrary
import KiiPushSystem

/// The destination and form of an agent's log lines: the journal with fields, a terminal without priorities, or else
/// lines that begin with `<6>`, as journald and others read them.
package struct LogOutput: Sendable {
    enum Form: Sendable {
        case prefixed
        case plain
        case journal(UnixAddress)
    }

    let form: Form

    /// The form for this process's standard error.
    package static var standardError: LogOutput {
        LogOutput(
            descriptor: STDERR_FILENO,
            journalStream: unsafe getenv("JOURNAL_STREAM").map { unsafe String(cString: $0) })
    }

    /// The form for a descriptor.
    ///
    /// `journalStream` is the device and inode of the stream that systemd connected to the journal, from
    /// `JOURNAL_STREAM`.
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

    /// Writes a line; returns whether it was written.
    ///
    /// `write` is called without a journal, or if the journal refuses the line.
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
