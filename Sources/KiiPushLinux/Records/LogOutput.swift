import Glibc

/// Where the lines of an agent's log go, and in what form: to the journal with their fields, to a terminal without the
/// priorities, or else as lines that begin with `<6>`, which journald and others read.
package struct LogOutput: Sendable {
    enum Form: Sendable {
        case prefixed
        case plain
        case journal(UnixAddress)
    }

    let form: Form

    /// What fits this process's standard error.
    package static var standardError: LogOutput {
        LogOutput(
            descriptor: STDERR_FILENO,
            journalStream: unsafe getenv("JOURNAL_STREAM").map { unsafe String(cString: $0) })
    }

    /// What fits a descriptor.
    ///
    /// - Parameters:
    ///   - descriptor: where lines are written.
    ///   - journalStream: device and inode of what systemd has connected to the journal, as `JOURNAL_STREAM` says.
    ///   - journal: the socket of the journal's own protocol.
    init(descriptor: Int32, journalStream: String?, journal: String = "/run/systemd/journal/socket") {
        if Self.isJournal(descriptor, journalStream), let address = UnixAddress(path: journal) {
            form = .journal(address)
        } else {
            form = isatty(descriptor) == 1 ? .plain : .prefixed
        }
    }

    /// Whether a descriptor is the very stream that systemd has connected to the journal.
    private static func isJournal(_ descriptor: Int32, _ stream: String?) -> Bool {
        guard let parts = stream?.split(separator: ":"), parts.count == 2, let device = UInt64(parts[0]),
            let inode = UInt64(parts[1])
        else { return false }
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 && UInt64(status.st_dev) == device
            && UInt64(status.st_ino) == inode
    }

    /// Writes a line as ``JournalLine/encoded`` has it, or any other line.
    ///
    /// - Parameters:
    ///   - encoded: the line.
    ///   - write: writes a line where there is no journal, or none that takes it; whether that went well.
    /// - Returns: whether it was written.
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
    /// The line with its fields behind it, each after a NUL, for `LogOutput`; the text itself has none.
    package var encoded: String { description + fields.map { "\0\($0.name)=\($0.value)" }.joined() }

    /// A line that was encoded, taken apart again.
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

        /// As journald reads it from a stream.
        var prefixed: String { priority.map { "<\($0)>\(text)" } ?? text }

        /// As the journal's own protocol has it: a field a line.
        var datagram: [UInt8] {
            // What has no priority is trouble that a command tells of itself.
            let lines =
                ["MESSAGE=\(EscapedText(text))", "PRIORITY=\(priority ?? 4)", "SYSLOG_IDENTIFIER=kiipush"]
                + fields.map { "\(EscapedText(String($0)))" }
            return Array((lines.joined(separator: "\n") + "\n").utf8)
        }
    }
}
