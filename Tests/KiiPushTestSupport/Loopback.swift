import Glibc
import KiiPushSystem

/// Sockets of the loopback interface.
enum Loopback {
    /// Binds a socket to a free port, and returns that.
    static func bind(_ descriptor: Int32) throws -> Int {
        guard unsafe call(Glibc.bind, descriptor, 0), let port = port(descriptor) else {
            throw TestFailure(what: "bind", code: errno)
        }
        return port
    }

    /// The port of a socket; nil where it has none.
    static func port(_ descriptor: Int32) -> Int? { unsafe port(descriptor, getsockname) }

    /// The port of a socket's peer; nil where it has none.
    static func peerPort(_ descriptor: Int32) -> Int? { unsafe port(descriptor, getpeername) }

    private static func port(
        _ descriptor: Int32,
        _ call: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> Int? {
        var (address, length) = (address(0), socklen_t(MemoryLayout<sockaddr_in>.size))
        let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe call(descriptor, $0, &length) }
        }
        return result == 0 && address.sin_family == AF_INET ? Int(UInt16(bigEndian: address.sin_port)) : nil
    }

    /// A port that nobody listens at, for as long as nobody else takes it.
    ///
    /// It is none of those that the system gives to connections: one to a broker that is away could get that port, and
    /// be connected with itself, so that the broker cannot return.
    static func freePort() throws -> Int {
        for _ in 0..<100 {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(descriptor) }
            let port = Int.random(in: 10_000..<32_768)
            if unsafe call(Glibc.bind, descriptor, port) { return port }
        }
        throw TestFailure(what: "no free port", code: errno)
    }

    /// Connects a socket; false when nobody listens.
    static func connect(_ descriptor: Int32, to port: Int) -> Bool { unsafe call(Glibc.connect, descriptor, port) }

    /// Whether somebody listens at a port.
    static func listens(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        return connect(descriptor, to: port)
    }

    private static func call(
        _ call: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32, _ descriptor: Int32, _ port: Int
    ) -> Bool {
        var address = address(port)
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe call(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    private static func address(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        return address
    }
}

/// A free port at which each link is accepted in its turn, and handed over to be closed, while the value is there.
final class Listener: Sendable {
    let port: Int

    init(_ link: @escaping @Sendable (Int32) -> Void) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        port = try Loopback.bind(listener)
        guard listen(listener, 64) == 0 else { throw TestFailure(what: "listen", code: errno) }
        startThread { [weak self] in
            var poll = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
            while self != nil {
                guard unsafe Glibc.poll(&poll, 1, 50) > 0 else { continue }
                let descriptor = accept(listener, nil, nil)
                if descriptor >= 0 { link(descriptor) }
            }
            close(listener)
        }
    }
}
