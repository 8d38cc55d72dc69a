import Glibc

@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import KiiPushTestSupport

/// A program that is connected to a socket; each wait of its ends after ten seconds.
final class SocketPeer {
    private(set) var descriptor: Int32
    private var unread: [UInt8] = []

    init(_ path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var limit = timeval(tv_sec: 10, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            _ = unsafe setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        // Where this throws, `deinit` closes the socket: closed here too, the second time could hit another test's
        // file.
        guard let address = UnixAddress(path: path),
            unsafe address.withPointer({ unsafe connect(descriptor, $0, $1) }) == 0
        else { throw TestFailure(what: path, code: errno) }
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
            let count = recv(&bytes)
            if count <= 0 { return nil }
            unread += bytes[..<count]
        }
    }

    /// The next answer, if it is there.
    func answerIfAny() -> String? {
        var polled = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
        let hasMore = unsafe poll(&polled, 1, 0) > 0
        guard hasMore || unread.contains(UInt8(ascii: "\n")) else { return nil }
        return answer()
    }

    private func recv(_ bytes: inout [UInt8]) -> Int { unsafe Glibc.recv(descriptor, &bytes, bytes.count, 0) }

    func answers(_ count: Int) -> [String] { (0..<count).compactMap { _ in answer() } }

    /// Sends no more, and goes on to read.
    func endInput() { shutdown(descriptor, Int32(SHUT_WR)) }

    func hangUp() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }
}
