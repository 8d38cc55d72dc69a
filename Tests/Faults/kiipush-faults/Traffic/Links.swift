import Glibc

/// A connection of the simulated cloud to an agent, directly or by way of a broker; nothing on it blocks.
protocol Link: AnyObject {
    var descriptor: Int32 { get }
    /// How many bytes have not been written yet.
    var queued: Int { get }
    /// Whether the other side has closed it.
    var isClosed: Bool { get }

    /// Queues a payload, which is known by a key.
    func send(_ payload: [UInt8], _ key: Int64)
    /// Writes as much as the connection takes.
    func write()
    /// Reads what there is, and passes on the answers.
    func read(_ answered: (Int64, Answer) -> Void)
}

/// What an agent, or a broker, has answered to a payload.
struct Answer {
    var outcome: String
    /// Whether the payload is to be sent again.
    var isRefusal = false
}

/// Bytes that wait for a connection, and the keys of payloads that wait for an answer.
struct Backlog {
    private(set) var bytes: [UInt8] = []
    private var start = 0
    private var keys: [Int64] = []
    private var firstKey = 0

    var count: Int { bytes.count - start }

    mutating func add(_ more: [UInt8], _ key: Int64?) {
        bytes += more
        if let key { keys.append(key) }
    }

    /// The key of the oldest payload that has no answer yet.
    mutating func nextKey() -> Int64? {
        guard firstKey < keys.count else { return nil }
        firstKey += 1
        if firstKey > 4096 {
            keys.removeFirst(firstKey - 1)
            firstKey = 1
        }
        return keys[firstKey - 1]
    }

    /// Writes as much as a socket takes; false when the socket is closed.
    mutating func write(to link: Int32) -> Bool {
        while start < bytes.count {
            let count = bytes[start...].withUnsafeBytes {
                Glibc.send(link, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            guard count > 0 else { return errno == EAGAIN || errno == EINTR }
            start += count
            if start == bytes.count {
                bytes.removeAll(keepingCapacity: true)
                start = 0
            }
        }
        return true
    }
}

/// Reads what a socket has; nil when it is closed.
private func received(from link: Int32) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 1 << 15)
    let count = recv(link, &bytes, bytes.count, Int32(MSG_DONTWAIT))
    if count > 0 { return Array(bytes[..<count]) }
    return count < 0 && (errno == EAGAIN || errno == EINTR) ? [] : nil
}

/// A connection to the Unix socket of an agent: one payload a line, and one answer a line.
final class SocketLink: Link {
    let descriptor: Int32
    private(set) var isClosed = false
    private var backlog = Backlog()
    private var lines = Lines()

    /// Connects; nil when nobody listens there yet.
    init?(path: String) {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { return nil }
    }

    deinit { close(descriptor) }

    var queued: Int { backlog.count }

    func send(_ payload: [UInt8], _ key: Int64) { backlog.add(payload, key) }

    func write() {
        if !isClosed, !backlog.write(to: descriptor) { isClosed = true }
    }

    func read(_ answered: (Int64, Answer) -> Void) {
        guard let bytes = received(from: descriptor) else {
            isClosed = true
            return
        }
        lines.take(bytes) { line in
            let text = String(decoding: line, as: UTF8.self)
            let outcome = text.split(separator: "\"outcome\":\"").last?.prefix { $0 != "\"" } ?? "?"
            guard let key = backlog.nextKey() else { return }
            answered(key, Answer(outcome: String(outcome), isRefusal: text.contains("\"retryLater\"")))
        }
    }
}

/// A connection to a broker, over which payloads are published with quality of service 1.
final class BrokerLink: Link {
    let descriptor: Int32
    private(set) var isClosed = false
    private let topic: [UInt8]
    private var backlog = Backlog()
    private var packets = PacketReader()
    private var lastID: UInt16 = 0

    init?(port: Int, topic: String) {
        self.topic = Array(topic.utf8)
        descriptor = connected(to: port)
        guard descriptor >= 0 else { return nil }
        var delay: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &delay, socklen_t(MemoryLayout<Int32>.size))
        // CONNECT: MQTT 3.1.1, a clean session, no keep-alive, no client id.
        backlog.add([0x10, 12, 0, 4, 0x4D, 0x51, 0x54, 0x54, 4, 2, 0, 0, 0, 0], nil)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    var queued: Int { backlog.count }

    func send(_ payload: [UInt8], _ key: Int64) {
        lastID = lastID % 60_000 + 1
        let body =
            [UInt8(topic.count >> 8), UInt8(topic.count & 255)] + topic + [UInt8(lastID >> 8), UInt8(lastID & 255)]
            + payload
        backlog.add([0x32, UInt8(body.count & 127 | 128), UInt8(body.count >> 7)] + body, key)
    }

    func write() {
        if !isClosed, !backlog.write(to: descriptor) { isClosed = true }
    }

    func read(_ answered: (Int64, Answer) -> Void) {
        guard let bytes = received(from: descriptor) else {
            isClosed = true
            return
        }
        for packet in packets.take(bytes) where packet.kind == 4 {
            if let key = backlog.nextKey() { answered(key, Answer(outcome: "published")) }
        }
    }
}

/// Cuts bytes into lines.
struct Lines {
    private var rest: [UInt8] = []

    /// Passes on each line that is complete with these bytes, without its end.
    mutating func take(_ bytes: some Collection<UInt8>, _ body: (ArraySlice<UInt8>) -> Void) {
        rest += bytes
        var start = 0
        while let end = rest[start...].firstIndex(of: 0x0A) {
            body(rest[start..<end])
            start = end + 1
        }
        rest.removeFirst(start)
    }
}
