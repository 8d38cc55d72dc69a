#if MQTT
import Foundation
import KiiPushMQTT
import Synchronization
import Testing

/// Something that gives the same bytes as an answer to each first and each second packet, then some more.
///
/// For what a real broker does only in trouble.
final class ScriptedBroker: Sendable {
    private let listener: Listener
    private let heard = Heard()

    /// How many links there were, and how many times something came on them.
    private final class Heard: Sendable {
        let counts = Mutex((links: 0, packets: 0))
    }

    /// Answers first packets by one text after another, and over again.
    convenience init(connections: [[UInt8]]) throws { try self.init(answers: connections.map { [$0] }, 2000) }

    convenience init(
        connection: [UInt8] = [0x20, 3, 0, 0, 0], subscription: [UInt8] = [0x90, 4, 0, 1, 0, 1], then: [UInt8] = [],
        patience: Int32 = 2000
    ) throws { try self.init(answers: [[connection, subscription + then]], patience) }

    /// Answers the packets of each link by one text after another: the links by one list after another, and over again.
    init(answers: [[[UInt8]]], _ patience: Int32) throws {
        listener = try Listener { [heard] link in
            let number = heard.counts.withLock { counts in
                defer { counts.links += 1 }
                return counts.links
            }
            Self.answer(link, answers[number % answers.count], patience, heard)
        }
    }

    var port: Int { listener.port }

    /// Answers whatever comes by one text after another, and waits for the peer to go, for a while.
    private static func answer(_ descriptor: Int32, _ answers: [[UInt8]], _ patience: Int32, _ heard: Heard) {
        defer { close(descriptor) }
        var left = answers[...]
        var buffer = [UInt8](repeating: 0, count: 4096)
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while unsafe Glibc.poll(&poll, 1, patience) > 0, unsafe read(descriptor, &buffer, buffer.count) > 0 {
            heard.counts.withLock { $0.packets += 1 }
            guard let answer = left.popFirst() else { continue }
            _ = unsafe send(descriptor, answer, answer.count, Int32(MSG_NOSIGNAL))
        }
    }

    /// How many times something came, which is most often a packet.
    var packets: Int { heard.counts.withLock(\.packets) }

    /// Settings for it, with short pauses.
    func settings(_ version: MQTTSettings.Version, _ change: (inout MQTTSettings) -> Void = { _ in }) -> MQTTSettings {
        localSettings(port: port) {
            $0.version = version
            change(&$0)
        }
    }
}
#endif
