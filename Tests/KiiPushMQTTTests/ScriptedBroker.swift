#if MQTT
import Foundation
import KiiPushMQTT
import Synchronization
import Testing

/// Something that gives the same bytes as an answer to each first and each second packet, then some more.
///
/// For what a real broker does only in trouble.
final class ScriptedBroker: Sendable {
    let port: Int
    private let isOver = Mutex(false)
    private let count = Mutex(0)

    /// Answers first packets by one text after another, and over again.
    convenience init(connections: [[UInt8]]) throws { try self.init(answers: connections.map { [$0] }, 2000) }

    convenience init(
        connection: [UInt8] = [0x20, 3, 0, 0, 0], subscription: [UInt8] = [0x90, 4, 0, 1, 0, 1], then: [UInt8] = [],
        patience: Int32 = 2000
    ) throws { try self.init(answers: [[connection, subscription + then]], patience) }

    /// Answers the packets of each link by one text after another: the links by one list after another, and over again.
    init(answers: [[[UInt8]]], _ patience: Int32) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        port = try Loopback.bind(listener)
        try #require(listen(listener, 8) == 0)
        Thread.detachNewThread { [weak self] in
            var poll = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
            var links = 0
            while let self, !self.isOver.withLock(\.self) {
                guard unsafe Glibc.poll(&poll, 1, 50) > 0 else { continue }
                self.answer(accept(listener, nil, nil), answers[links % answers.count], patience)
                links += 1
            }
            close(listener)
        }
    }

    deinit { isOver.withLock { $0 = true } }

    /// Answers whatever comes by one text after another, and waits for the peer to go, for a while.
    private func answer(_ descriptor: Int32, _ answers: [[UInt8]], _ patience: Int32) {
        defer { close(descriptor) }
        var left = answers[...]
        var buffer = [UInt8](repeating: 0, count: 4096)
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while unsafe Glibc.poll(&poll, 1, patience) > 0, unsafe read(descriptor, &buffer, buffer.count) > 0 {
            count.withLock { $0 += 1 }
            guard let answer = left.popFirst() else { continue }
            _ = unsafe send(descriptor, answer, answer.count, Int32(MSG_NOSIGNAL))
        }
    }

    /// How many times something came, which is most often a packet.
    var packets: Int { count.withLock(\.self) }

    /// Settings for it, with short pauses.
    func settings(
        _ version: MQTTSettings.Version, _ change: (inout MQTTSettings) -> Void = { _ in }
    ) -> MQTTSettings {
        var settings = MQTTSettings(host: "127.0.0.1", port: port, topic: "push")
        settings.clientID = "device"
        settings.version = version
        settings.backoff = .milliseconds(20)
        settings.risksMQTT5 = true
        change(&settings)
        return settings
    }
}
#endif
