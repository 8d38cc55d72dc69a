#if HTTP
import Glibc
import KiiPushAgent
import KiiPushSystem
import KiiPushTesting
import Synchronization

/// A relay to a port of this machine that cuts, delays and repeats what goes over it, as a seed says.
final class RoughProxy: Sendable {
    /// What happens to one connection.
    private struct Plan {
        /// How many bytes pass to the server before the connection is cut; nil for any.
        var requestBytes: Int?
        /// How many bytes pass to the client before the connection is cut; nil for any.
        var answerBytes: Int?
        /// How long a part of a request is kept back.
        var delay: Duration?
        /// Whether the server gets everything a second time, over another connection whose answers nobody reads.
        var isDoubled = false
        /// Whether the server still gets a request whose client was cut off, a moment later.
        var isLate = false

        init(_ generator: inout SeededGenerator) {
            func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &generator) < percent }
            // No connection lasts, so that there are many.
            if chance(50) {
                requestBytes = Int.random(in: 0..<5000, using: &generator)
            } else {
                answerBytes = Int.random(in: 0..<1500, using: &generator)
            }
            if chance(20) { delay = .milliseconds(Int.random(in: 1...20, using: &generator)) }
            isDoubled = chance(25)
            isLate = chance(30)
        }
    }

    private struct State {
        var generator: SeededGenerator
        var counts: [String: Int] = [:]
        var isStopped = false
    }

    let port: Int
    private let target: Int
    private let listener: Int32
    private let state: Mutex<State>

    init(to target: Int, seed: UInt64) throws {
        self.target = target
        state = Mutex(State(generator: SeededGenerator(seed: seed)))
        (listener, port) = try Self.listen()
        startThread { [self] in accept() }
    }

    /// How often it did what.
    var counts: [String: Int] { state.withLock { $0.counts } }

    func stop() {
        state.withLock { $0.isStopped = true }
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func count(_ what: String) { state.withLock { $0.counts[what, default: 0] += 1 } }

    private func accept() {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            guard client >= 0, !state.withLock({ $0.isStopped }) else { break }
            let plan = state.withLock { Plan(&$0.generator) }
            startThread { [self] in relay(client, plan) }
        }
        close(listener)
    }

    // MARK: One connection

    private func relay(_ client: Int32, _ plan: Plan) {
        let server = Self.connected(to: target)
        let double = plan.isDoubled ? Self.connected(to: target) : -1
        if plan.isDoubled { count("doubled") }
        if plan.delay != nil { count("delayed") }
        defer { for descriptor in [client, server, double] where descriptor >= 0 { close(descriptor) } }
        var (sent, answered) = (0, 0)
        while true {
            var polls = [client, server, double].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            pollAll(&polls, for: .seconds(5))
            if polls.allSatisfy({ $0.revents == 0 }) { return }
            if polls[2].revents != 0, Self.read(double) == nil { _ = shutdown(double, Int32(SHUT_RDWR)) }
            if polls[1].revents != 0 {
                guard let bytes = Self.read(server) else { return }
                let part = plan.answerBytes.map { Array(bytes.prefix(max($0 - answered, 0))) } ?? bytes
                answered += bytes.count
                guard Self.write(part, client), part.count == bytes.count else { return count("answer cut") }
            }
            if polls[0].revents != 0 {
                guard let bytes = Self.read(client) else { return }
                if let delay = plan.delay { Self.pause(delay) }
                let part = plan.requestBytes.map { Array(bytes.prefix(max($0 - sent, 0))) } ?? bytes
                sent += bytes.count
                if part.count < bytes.count {
                    guard plan.isLate else {
                        _ = Self.write(part, server)
                        return count("request cut")
                    }
                    shutdown(client, Int32(SHUT_RDWR))
                    Self.pause(.milliseconds(15))
                    count("request late")
                    if Self.write(bytes, server) { _ = Self.read(server) }
                    return
                }
                if double >= 0 { _ = Self.write(bytes, double) }
                guard Self.write(bytes, server) else { return }
            }
        }
    }

    // MARK: System calls

    private static func pause(_ duration: Duration) {
        var none: [pollfd] = []
        pollAll(&none, for: duration)
    }

    /// What there is; nil at the end.
    private static func read(_ descriptor: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16_384)
        let count = retrying { unsafe recv(descriptor, &bytes, bytes.count, 0) }
        return count > 0 ? Array(bytes.prefix(count)) : nil
    }

    private static func write(_ bytes: [UInt8], _ descriptor: Int32) -> Bool {
        bytes.isEmpty || retrying { unsafe send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) } == bytes.count
    }

    private static func address(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        address.sin_port = in_port_t(port).bigEndian
        return address
    }

    private static func connected(to port: Int) -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = address(port)
        let code = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { general in
                unsafe connect(descriptor, general, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if code == 0 { return descriptor }
        close(descriptor)
        return -1
    }

    private static func listen() throws -> (Int32, Int) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = address(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { general in
                guard unsafe bind(listener, general, length) == 0, Glibc.listen(listener, 64) == 0 else { return -1 }
                return unsafe Int(getsockname(listener, general, &length))
            }
        }
        guard code == 0 else { throw ErrorNumber.current }
        return (listener, Int(UInt16(bigEndian: address.sin_port)))
    }
}
#endif
