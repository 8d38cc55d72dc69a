#if MQTT
import Glibc
import KiiPushMQTT
import KiiPushSystem
import Synchronization
import Testing

@testable import KiiPushTestSupport

/// A port that leads to a broker, over links that a test can cut.
final class Relay: Sendable {
    private let listener: Listener
    private let open = Ends()

    /// The sockets that are open; a number that was closed may be another test's by now.
    private final class Ends: Sendable {
        private let state = Mutex((descriptors: Set<Int32>(), links: 0))

        /// How many times there were some.
        var links: Int { state.withLock(\.links) }

        func add(_ ends: [Int32]) {
            state.withLock { state in
                state.descriptors.formUnion(ends)
                state.links += 1
            }
        }

        func close(_ ends: [Int32]) {
            state.withLock { state in
                state.descriptors.subtract(ends)
                for end in ends { Glibc.close(end) }
            }
        }

        func cut() {
            state.withLock { state in
                for end in state.descriptors { shutdown(end, Int32(SHUT_RDWR)) }
            }
        }
    }

    init(to broker: Int) throws {
        listener = try Listener { [open] client in
            let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            guard Loopback.connect(server, to: broker) else {
                close(client)
                close(server)
                return
            }
            open.add([client, server])
            startThread {
                Self.carry(client, server)
                open.close([client, server])
            }
        }
    }

    deinit { open.cut() }

    var port: Int { listener.port }

    /// How many links there have been.
    var links: Int { open.links }

    /// Cuts all links; the next one is let through.
    func cut() { open.cut() }

    /// Carries bytes both ways until one side ends.
    private static func carry(_ client: Int32, _ server: Int32) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            var polls = [client, server].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard unsafe poll(&polls, 2, -1) > 0 else { return }
            for (index, target) in [server, client].enumerated() where polls[index].revents != 0 {
                let count = unsafe read(polls[index].fd, &buffer, buffer.count)
                guard count > 0, unsafe write(target, buffer, count) == count else { return }
            }
        }
    }
}

/// A port whose queue of connections is full: it lets no further one in, until one is taken out of it.
struct FullPort {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    let number: Int
    let fillers = (0..<4).map { _ in socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0) }

    init() throws {
        number = try Loopback.bind(listener)
        try #require(listen(listener, 0) == 0)
        for filler in fillers { _ = Loopback.connect(filler, to: number) }
    }

    func close() { for descriptor in fillers + [listener] { Glibc.close(descriptor) } }
}

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
