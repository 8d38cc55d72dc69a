import Glibc
import KiiPushSystem

/// A program that is connected to a Unix socket; each wait of its ends after a minute.
final class SocketPeer {
    private(set) var descriptor: Int32
    private var unread: [UInt8] = []

    /// Connects, again and again for so long.
    init(_ path: String, within limit: Duration = .zero) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var wait = timeval(tv_sec: 60, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            _ = unsafe setsockopt(descriptor, SOL_SOCKET, option, &wait, socklen_t(MemoryLayout<timeval>.size))
        }
        // Where this throws, `deinit` closes the socket: closed here too, the second time could hit another test's
        // file.
        guard let address = UnixAddress(path: path) else { throw TestFailure(what: path, code: EINVAL) }
        let end = ContinuousClock.now + limit
        while unsafe address.withPointer({ unsafe connect(descriptor, $0, $1) }) != 0 {
            guard .now < end else { throw TestFailure(what: path, code: errno) }
            _ = poll(nil, 0, 10)
        }
    }

    deinit { hangUp() }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes[sent...].withUnsafeBytes { part in
                unsafe Glibc.send(descriptor, part.baseAddress, part.count, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return }
            sent += count
        }
    }

    /// Sends as much as the system takes without waiting; how much that is.
    func sendReady(_ bytes: [UInt8]) -> Int {
        unsafe Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
    }

    /// The next answer without its line end; nil when there will be none, or none came in time.
    func answer() -> String? {
        while true {
            if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
                defer { unread.removeFirst(end + 1) }
                return String(decoding: unread[..<end], as: UTF8.self)
            }
            var bytes = [UInt8](repeating: 0, count: 65_536)
            let count = unsafe recv(descriptor, &bytes, bytes.count, 0)
            if count <= 0 { return nil }
            unread += bytes[..<count]
        }
    }

    /// Sends a line, and waits for its answer.
    func ask(_ line: String) -> String? {
        send(line + "\n")
        return answer()
    }

    /// The next answer, if it is there.
    func answerIfAny() -> String? {
        var polled = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
        let hasMore = unsafe poll(&polled, 1, 0) > 0
        guard hasMore || unread.contains(UInt8(ascii: "\n")) else { return nil }
        return answer()
    }

    func answers(_ count: Int) -> [String] { (0..<count).compactMap { _ in answer() } }

    /// Sends no more, and goes on to read.
    func endInput() { shutdown(descriptor, Int32(SHUT_WR)) }

    func hangUp() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }
}

/// A socket that takes what a service manager or the journal is told.
final class DatagramSocket {
    private let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)

    convenience init(path: String) throws { try self.init(UnixAddress(path: path)) }

    init(_ address: UnixAddress?) throws {
        guard let address, unsafe address.withPointer({ unsafe bind(descriptor, $0, $1) }) == 0 else {
            throw TestFailure(what: "bind", code: errno)
        }
    }

    deinit { close(descriptor) }

    /// The next message; nil when there is none yet.
    var next: String? {
        var bytes = [UInt8](repeating: 0, count: 10_000)
        let count = unsafe recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
    }
}
