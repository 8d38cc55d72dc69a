import Glibc

/// Watches an agent's system calls: no acknowledgement may leave before the commit is on disk that holds its message.
struct AcknowledgementOrder {
    var program = Program.own
    /// Turns the order round: with the inbox in memory nothing is on disk, and the check has to say so.
    var isTurnedRound = false

    private static let messages = 300

    /// What was seen.
    struct Finding {
        var acknowledgements = 0
        /// The messages that were acknowledged before they were on disk.
        var early: [Int] = []
    }

    /// The row; nil where nothing may be traced, which takes the right to.
    func row() throws -> Row? {
        guard try kiipush_faults.run(["strace", "-o", "/dev/null", "true"]) == .exited(0) else { return nil }
        let broker = try Broker()
        let session = try Session(broker, "order", program: program)
        try session.subscribe()
        if isTurnedRound { session.options = ["--memory"] }
        session.publisher.publish(Self.messages)
        try session.publisher.settle()
        let trace = "\(session.folder.path)/trace"
        let calls = "read,recvfrom,recvmsg,pwrite64,pwritev,fdatasync,fsync,write,writev,sendto,sendmsg"
        try session.run(
            under: ["strace", "-D", "-f", "-q", "-y", "-xx", "-s", "100000", "-e", "trace=\(calls)", "-o", trace])
        var row: Row
        if isTurnedRound {
            try wait(for: "all are handled") { try session.handled() == Self.messages }
            try session.stop()
            row = Row(fault: "")
            row.messages = Self.messages
        } else {
            row = try session.finish("")
        }
        row.fault = "strace: acknowledged after fdatasync (\(isTurnedRound ? "turned round" : program.name))"
        row.runs = 1
        // The tracer ends after the agent.
        try wait(for: "strace writes the end") {
            words(of: trace).split(separator: "\n").last?.contains("+++ exited") ?? false
        }
        let finding = Self.judge(SystemCall.read(trace), session.port)
        if finding.acknowledgements < Self.messages {
            row.broken.append("strace saw \(finding.acknowledgements) acknowledgements of \(Self.messages) messages")
        }
        if !isTurnedRound, !finding.early.isEmpty {
            row.broken.append("acknowledged before they were on disk: \(finding.early.prefix(10))")
        }
        if isTurnedRound, finding.early.count < Self.messages {
            row.broken.append("an inbox in memory should be found out, and only \(finding.early.count) are")
        }
        return row
    }

    /// Looks each acknowledgement up: the message it is for, the write that has that message, and a sync between the
    /// two.
    private static func judge(_ calls: [SystemCall], _ port: Int) -> Finding {
        var finding = Finding()
        // The broker's link is the socket that a message came over.
        var input: [String: PacketReader] = [:]
        var output: [String: PacketReader] = [:]
        var numbers: [String: [UInt16: Int]] = [:]
        // Which messages have been written to the log of the database, and which of them are on disk.
        var written: [Int: (line: Int, log: String)] = [:]
        var syncs: [String: [(began: Int, ended: Int)]] = [:]
        for call in calls {
            switch call.name {
            case "read", "recvfrom", "recvmsg":
                guard call.file.hasPrefix("socket:") || call.file.hasPrefix("TCP"), call.result > 0 else { continue }
                for packet in input[call.file, default: PacketReader()].take(call.bytes.prefix(call.result)) {
                    guard packet.kind == 3, let (id, number) = message(packet) else { continue }
                    numbers[call.file, default: [:]][id] = number
                }
            case "pwrite64", "pwritev":
                guard call.file.hasSuffix("-wal"), call.result > 0 else { continue }
                for number in self.numbers(in: call.bytes) where written[number] == nil {
                    written[number] = (call.ended, call.file)
                }
            case "fdatasync", "fsync":
                if call.result == 0 { syncs[call.file, default: []].append((call.began, call.ended)) }
            case "write", "writev", "sendto", "sendmsg":
                guard let known = numbers[call.file] else { continue }
                for packet in output[call.file, default: PacketReader()].take(call.bytes) where packet.kind == 4 {
                    guard let number = known[UInt16(packet.body[0]) << 8 | UInt16(packet.body[1])] else { continue }
                    finding.acknowledgements += 1
                    let write = written[number]
                    let isSafe =
                        write.map { write in
                            syncs[write.log, default: []].contains { $0.began > write.line && $0.ended < call.began }
                        } ?? false
                    if !isSafe { finding.early.append(number) }
                }
            default: break
            }
        }
        return finding
    }

    /// The id and the number of a message with quality of service 1.
    private static func message(_ packet: PacketReader.Packet) -> (id: UInt16, number: Int)? {
        guard packet.flags >> 1 & 3 == 1, packet.body.count > 4 else { return nil }
        let topic = Int(packet.body[0]) << 8 | Int(packet.body[1])
        let rest = packet.body.dropFirst(2 + topic)
        guard rest.count > 2, let first = rest.first,
            let number = NumberedMessage.number(in: rest.dropFirst(2), behind: "\"when\":")
        else { return nil }
        return (UInt16(first) << 8 | UInt16(rest[rest.startIndex + 1]), number)
    }

    /// The numbers of all messages in a page.
    private static func numbers(in bytes: [UInt8]) -> [Int] {
        let key = Array("\"when\":".utf8)
        var numbers: [Int] = []
        var index = 0
        while index + key.count < bytes.count {
            guard bytes[index] == key[0], bytes[index..<index + key.count].elementsEqual(key) else {
                index += 1
                continue
            }
            index += key.count
            let digits = bytes[index...].prefix { $0 >= 0x30 && $0 <= 0x39 }
            if let time = Int64(String(decoding: digits, as: UTF8.self)) {
                numbers.append(NumberedMessage.number(sentAt: time))
            }
        }
        return numbers
    }
}
