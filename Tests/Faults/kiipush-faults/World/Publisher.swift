import Dispatch
import Glibc
import Synchronization

/// Publishes numbered messages with quality of service 1, and knows which of them the broker has acknowledged.
///
/// It speaks MQTT itself, and no more of it than it needs. When its link is lost it makes another one, and sends again
/// what was not acknowledged.
final class Publisher: Sendable {
    private struct State {
        /// Messages from 1 to this one are to be published.
        var last = 0
        var acknowledged = 0
        var isStopped = false
        var isOver = false
    }

    private let port: Int
    private let connect: [UInt8]
    /// The PUBLISH packet of a number, whose id is `Publisher.id(of:)`.
    private let packet: @Sendable (Int) -> [UInt8]
    private let state = Mutex(State())

    /// How many messages may wait for their acknowledgement.
    private static let window = 500

    /// Publishes to one topic, by MQTT 3.1.1.
    convenience init(port: Int, topic: String) {
        // A clean session, no keep-alive, no client id.
        self.init(port: port, connect: [0x10, 12, 0, 4, 0x4D, 0x51, 0x54, 0x54, 4, 2, 0, 0, 0, 0]) { number in
            let body =
                [0, UInt8(topic.utf8.count)] + topic.utf8 + Self.id(of: number) + NumberedMessage.payload(number)
            return [0x32, UInt8(body.count & 127 | 128), UInt8(body.count >> 7)] + body
        }
    }

    static func id(of number: Int) -> [UInt8] {
        let id = UInt16(number % 60_000 + 1)
        return [UInt8(id >> 8), UInt8(id & 255)]
    }

    init(port: Int, connect: [UInt8], packet: @escaping @Sendable (Int) -> [UInt8]) {
        self.port = port
        self.connect = connect
        self.packet = packet
        DispatchQueue(label: "publisher").async { self.work() }
    }

    /// Has further messages published, numbered on.
    func publish(_ count: Int) { state.withLock { $0.last += count } }

    /// How many messages it was asked to publish.
    var asked: Int { state.withLock { $0.last } }

    /// How many of them, from the first on, are the broker's: it acknowledges in order.
    var acknowledged: Int { state.withLock { $0.acknowledged } }

    /// Waits until the broker has acknowledged all of them.
    func settle(within limit: Duration = .seconds(60)) throws {
        try wait(for: "the broker acknowledges \(asked), has \(acknowledged)", within: limit) { acknowledged == asked }
    }

    /// Ends its thread.
    func stop() {
        state.withLock { $0.isStopped = true }
        try? wait(for: "the publisher ends") { state.withLock { $0.isOver } }
    }

    // MARK: The thread

    private func work() {
        while !state.withLock({ $0.isStopped }) {
            if let link = connected(to: port) {
                serve(link)
                close(link)
            }
            usleep(20_000)
        }
        state.withLock { $0.isOver = true }
    }

    /// Publishes over a link until it is lost.
    private func serve(_ link: Int32) {
        var delay: Int32 = 1
        setsockopt(link, Int32(IPPROTO_TCP), TCP_NODELAY, &delay, socklen_t(MemoryLayout<Int32>.size))
        guard sendAll(connect, link) else { return }
        var answer: [UInt8] = []
        var isConnected = false
        var next = acknowledged + 1
        while !state.withLock({ $0.isStopped }) {
            let (last, acknowledged) = state.withLock { ($0.last, $0.acknowledged) }
            var packets: [UInt8] = []
            while isConnected, next <= last, next - acknowledged <= Self.window {
                packets += packet(next)
                next += 1
            }
            guard sendAll(packets, link) else { return }
            var poll = pollfd(fd: link, events: Int16(POLLIN), revents: 0)
            guard Glibc.poll(&poll, 1, 5) > 0 else { continue }
            var bytes = [UInt8](repeating: 0, count: 1 << 14)
            let count = recv(link, &bytes, bytes.count, 0)
            guard count > 0 else { return }
            answer += bytes[..<count]
            for kind in takeKinds(&answer) {
                if kind == 2 { isConnected = true }
                if kind == 4 { state.withLock { $0.acknowledged += 1 } }
            }
        }
    }
}

/// Takes MQTT's packets that are whole off the front, and returns their kinds; what a broker answers a publisher is
/// shorter than 128 bytes.
private func takeKinds(_ bytes: inout [UInt8]) -> [UInt8] {
    var kinds: [UInt8] = []
    while bytes.count > 1, bytes.count >= 2 + Int(bytes[1]) {
        kinds.append(bytes[0] >> 4)
        bytes.removeFirst(2 + Int(bytes[1]))
    }
    return kinds
}
