#if MQTT
import Glibc
import Synchronization
import Testing

@testable import KiiPushAgent
@testable import KiiPushSystem
@testable import KiiPushTestSupport

struct ManagedAgentTests {
    @Test("an agent whose broker is away is ready to its manager, which is told that it is not connected")
    func brokerAway() throws {
        let rules = try TemporaryFile(ReceiveTests.rules, name: "rules.json")
        let folder = rules.directory
        let manager = try DatagramSocket(path: "\(folder)/n")
        // Nobody who is not root can listen at port 1, and nobody does.
        let agent = try RunningAgent(
            ["--rules", rules.path, "--state", "\(folder)/state", "--mqtt", "mqtt://127.0.0.1:1/t"],
            variables: ["NOTIFY_SOCKET=\(folder)/n"])
        var told: [String] = []
        try agent.wait { _ in
            if let next = manager.next { told.append(next) }
            return told.last?.hasPrefix("STATUS=not connected: ") == true
        }
        #expect(told.contains("READY=1"))
        #expect(try agent.stop() == 0)
    }

    @Test("an agent that its broker refuses goes on, says so once and in its status, and is well when it is let in")
    func refused() throws {
        let rules = try TemporaryFile(ReceiveTests.rules, name: "rules.json")
        let state = rules.directory + "/state"
        let isOpen = Mutex(false)
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        unsafe withUnsafeMutableBytes(of: &address) { bytes in
            guard let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return }
            unsafe _ = bind(listener, start, length)
            unsafe _ = getsockname(listener, start, &length)
        }
        try #require(listen(listener, 4) == 0)
        startThread {
            while case let link = accept(listener, nil, nil), link >= 0 {
                let mayEnter = isOpen.withLock { $0 }
                var buffer = [UInt8](repeating: 0, count: 1024)
                for answer: [UInt8] in mayEnter ? [[0x20, 2, 0, 0], [0x90, 3, 0, 1, 1], [], []] : [[0x20, 2, 0, 5]] {
                    guard unsafe read(link, &buffer, buffer.count) > 0 else { break }
                    _ = unsafe send(link, answer, answer.count, Int32(MSG_NOSIGNAL))
                }
                close(link)
            }
        }
        defer {
            shutdown(listener, Int32(SHUT_RDWR))
            close(listener)
        }
        let port = UInt16(bigEndian: address.sin_port)
        let agent = try RunningAgent(
            ["--rules", rules.path, "--state", state, "--mqtt", "mqtt://127.0.0.1:\(port)/t"])
        try agent.wait { $0.log.contains("mqtt: refused: not authorised; check user, password") }
        let status = try ChildRun(["status", "--state", state])
        #expect(status.code == 1)
        #expect(status.output.contains("mqtt refused for "), "\(status.output)")
        #expect(status.output.contains("short of broker"), "\(status.output)")
        isOpen.withLock { $0 = true }
        try agent.wait { $0.log.contains("QoS 1 granted") }
        #expect(try ChildRun(["status", "--state", state]).code == 0)
        #expect(agent.log.split(separator: "mqtt: refused").count == 2)
        #expect(try agent.stop() == 0)
    }
}
#endif
