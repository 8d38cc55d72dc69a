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
        var answer = PacketReader()
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
            for kind in answer.take(bytes[..<count]) {
                if kind == 2 { isConnected = true }
                if kind == 4 { state.withLock { $0.acknowledged += 1 } }
            }
        }
    }
}

/// Cuts what comes over a link into MQTT's packets.
struct PacketReader {
    private var rest: [UInt8] = []

    /// The kinds of the packets that are whole with these bytes.
    mutating func take(_ bytes: some Collection<UInt8>) -> [UInt8] {
        rest += bytes
        var kinds: [UInt8] = []
        while let kind = rest.first, let end = end() {
            kinds.append(kind >> 4)
            rest.removeFirst(end)
        }
        return kinds
    }

    /// Where the first packet ends; nil while it is not whole.
    private func end() -> Int? {
        var (length, shift, index) = (0, 0, 1)
        while true {
            guard index < rest.count, shift <= 21 else { return nil }
            length |= Int(rest[index] & 127) << shift
            shift += 7
            index += 1
            if rest[index - 1] < 128 { break }
        }
        return index + length <= rest.count ? index + length : nil
    }
}
