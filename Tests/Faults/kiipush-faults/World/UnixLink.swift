import Glibc

/// A client of an agent's Unix socket, which sends payloads and waits for no answer.
final class UnixLink {
    private let link: Int32

    init(_ path: String) throws {
        link = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                connect(link, address, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw Trouble("\(path): \(text())") }
    }

    deinit { close(link) }

    func send(_ numbers: ClosedRange<Int>) throws {
        let lines = numbers.flatMap { NumberedMessage.payload($0) + [UInt8(ascii: "\n")] }
        guard sendAll(lines, link) else { throw Trouble("the agent takes no lines: \(text())") }
    }
}
