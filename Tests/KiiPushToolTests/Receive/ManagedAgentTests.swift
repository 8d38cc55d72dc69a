#if MQTT
import Glibc
import Testing

@testable import KiiPushLinux

struct ManagedAgentTests {
    @Test("an agent whose broker is away is ready to its manager, which is told that it is not connected")
    func brokerAway() throws {
        let rules = try TemporaryFile(ReceiveTests.rules, name: "rules.json")
        let folder = String(rules.path.dropLast("/rules.json".count))
        let listener = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(listener) }
        let address = try #require(UnixAddress(path: "\(folder)/n"))
        try #require(unsafe address.withPointer { unsafe bind(listener, $0, $1) } == 0)
        // Nobody who is not root can listen at port 1, and nobody does.
        let agent = try RunningAgent(
            ["--rules", rules.path, "--state", "\(folder)/state", "--mqtt", "mqtt://127.0.0.1:1/t"],
            variables: ["NOTIFY_SOCKET=\(folder)/n"])
        var told: [String] = []
        try agent.wait { _ in
            var bytes = [UInt8](repeating: 0, count: 1000)
            let count = unsafe recv(listener, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            if count >= 0 { told.append(String(decoding: bytes[..<count], as: UTF8.self)) }
            return told.last?.hasPrefix("STATUS=not connected: ") == true
        }
        #expect(told.contains("READY=1"))
        #expect(try agent.stop() == 0)
    }
}
#endif
