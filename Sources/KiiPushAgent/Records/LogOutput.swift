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

    /// Writes a line from ``JournalLine/encoded``, or any other line; returns whether it was written.
    ///
    /// `write` is called without a journal, or if the journal refuses the line.
    package func write(_ encoded: String, _ write: (String) -> Bool) -> Bool {
        let line = JournalLine.Encoded(encoded)
        switch form {
        case .prefixed: return write(line.prefixed)
        case .plain: return write(line.text)
        case .journal(let address): return Self.send(line.datagram, to: address) || write(line.prefixed)
        }
    }

    /// Sends a datagram; waits while the journal is behind.
    private static func send(_ bytes: [UInt8], to address: UnixAddress) -> Bool {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let sent = unsafe address.withPointer { pointer, length in
            retrying { unsafe sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), pointer, length) }
        }
        return sent == bytes.count
    }
}

extension JournalLine {
    /// The line followed by its fields, each after a NUL, for `LogOutput`; the text itself contains none.
    package var encoded: String { description + fields.map { "\0\($0.name)=\($0.value)" }.joined() }

    /// An encoded line, decoded again.
    struct Encoded {
        let priority: Int?
        let text: String
        let fields: [Substring]

        init(_ line: String) {
            let parts = line.split(separator: "\0", omittingEmptySubsequences: false)
            fields = Array(parts.dropFirst())
            let first = parts.first ?? ""
            let digit = first.dropFirst().first.flatMap { $0.isASCII ? $0.wholeNumberValue : nil }
            if first.hasPrefix("<"), let digit, digit < 8, first.dropFirst(2).hasPrefix(">") {
                (priority, text) = (digit, String(first.dropFirst(3)))
            } else {
                (priority, text) = (nil, String(first))
            }
        }

        /// The line for journald's stream protocol.
        var prefixed: String { priority.map { "<\($0)>\(text)" } ?? text }

        /// The line for the journal's native protocol: a field a line.
        var datagram: [UInt8] {
            // A line without a priority is an error of a command itself.
            let lines =
                ["MESSAGE=\(EscapedText(text))", "PRIORITY=\(priority ?? 4)", "SYSLOG_IDENTIFIER=kiipush"]
                + fields.map { "\(EscapedText(String($0)))" }
            return Array((lines.joined(separator: "\n") + "\n").utf8)
        }
    }
}
