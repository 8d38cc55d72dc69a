import CLibrary
import KiiPush
package import KiiPushSystem
import Synchronization

/// The output of a command, line by line.
///
/// Printing never waits: lines queue up until the client's thread has sent them, so that a slow client blocks no task.
package final class ControlReply: Sendable {
    private let client: Int32
    /// Whether the client has gone, or was disconnected; locked while something is sent.
    private let isGone = Mutex(false)
    private let queue = Mutex(Queue())
    private let work = ThreadSemaphore()
    private let unread: UnreadAnswers

    private struct Queue {
        var bytes: [UInt8] = []
        /// How many bytes the client has not read, including those that are being sent.
        var unread = 0
        var isWhole = false
        var isCutOff = false
    }

    init(_ client: Int32, _ unread: UnreadAnswers) { (self.client, self.unread) = (client, unread) }

    package func print(_ text: String) { add(ControlMessage.lines("o", text)) }

    /// Whether the client is still there, as far as the system knows; ask while its command is performed.
    package var isHeard: Bool {
        var polled = [pollfd(fd: client, events: 0, revents: 0)]
        pollAll(&polled, for: .zero)
        return polled[0].revents & Int16(POLLHUP | POLLERR) == 0
    }

    package func error(_ text: String) { add(ControlMessage.lines("e", text)) }

    func end(_ code: Int32) { add(ControlMessage.lines("x", "\(code)"), isLast: true) }

    private func add(_ bytes: [UInt8], isLast: Bool = false) {
        let cutsOff = queue.withLock { queue in
            queue.isWhole = queue.isWhole || isLast
            if queue.isCutOff { return false }
            if unread.take(bytes.count, beside: queue.unread) {
                queue.bytes += bytes
                queue.unread += bytes.count
                return false
            }
            give(queue.bytes.count, &queue)
            (queue.bytes, queue.isCutOff) = ([], true)
            // While it is locked, nobody closes the descriptor.
            shutdown(client, Int32(SHUT_RDWR))
            return true
        }
        if cutsOff { unread.tell() }
        work.raise()
    }

    private func give(_ count: Int, _ queue: inout Queue) {
        queue.unread -= count
        unread.give(count)
    }

    /// Sends the output as it comes, and disconnects the client at the end; `mayRest` is asked about one that does not
    /// read.
    func sendAll(mayRest: () -> Bool) {
        while true {
            let (bytes, isWhole) = queue.withLock { queue in
                defer { queue.bytes = [] }
                return (queue.bytes, queue.isWhole)
            }
            deliver(bytes, mayRest: mayRest)
            queue.withLock { give(bytes.count, &$0) }
            if isWhole { break }
            if bytes.isEmpty { _ = work.wait(for: .seconds(3600)) }
        }
        isGone.withLock { $0 = true }
        close(client)
    }

    /// Sends bytes, and disconnects a client that has gone, or has read nothing for five seconds and may not rest;
    /// false then.
    @discardableResult
    private func deliver(_ bytes: [UInt8], mayRest: () -> Bool) -> Bool {
        isGone.withLock { isGone in
            guard !isGone else { return false }
            var left = bytes[...]
            var lastRead = ContinuousClock.now
            while !left.isEmpty {
                let sent = unsafe left.withUnsafeBytes {
                    unsafe send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                if sent > 0 {
                    left.removeFirst(sent)
                    lastRead = .now
                    continue
                }
                guard [EAGAIN, EINTR].contains(errno),
                    lastRead.duration(to: .now) < ControlSocket.patience || mayRest()
                else {
                    shutdown(client, Int32(SHUT_RDWR))
                    isGone = true
                    return false
                }
                var polled = [pollfd(fd: client, events: Int16(POLLOUT), revents: 0)]
                pollAll(&polled, for: ControlSocket.patience)
            }
            return true
        }
    }
}

extension ControlReply {
    /// The next part of an endless answer.
    package enum Part {
        case lines([String])
        /// Nothing yet; the signal is raised when there is more.
        case later
        case end
    }

    /// Sends parts of an answer as they come, on its own thread, until there are no more or the client has gone;
    /// returns whether all was sent.
    ///
    /// It waits for a slow client, and requests no parts meanwhile; it notices at once when a client has gone. The
    /// signal is raised when there may be more; one thread calls `next`.
    package func stream(_ signal: ThreadSignal, _ next: @escaping @Sendable () -> Part) async -> Bool {
        await withThread { [self] in
            while !isGone.withLock({ $0 }) {
                signal.clear()
                switch next() {
                case .lines(let lines):
                    let bytes = lines.flatMap { ControlMessage.lines("o", $0) }
                    guard deliver(bytes, mayRest: { true }) else { return false }
                case .end: return true
                case .later:
                    var polled = [
                        pollfd(fd: signal.descriptor, events: Int16(POLLIN), revents: 0),
                        pollfd(fd: client, events: 0, revents: 0),
                    ]
                    pollAll(&polled, for: nil)
                    if !isHeard { return false }
                }
            }
            return false
        }
    }
}

/// The bytes of all answers that their clients have not read yet, within a bound.
final class UnreadAnswers: Sendable {
    /// What each client may leave unread besides, so that a short answer arrives while others rest.
    private static let share = 1 << 20

    private let most: Int
    private let bytes = Atomic<Int>(0)
    private let dropped: @Sendable (String) -> Void

    init(most: Int, _ dropped: @escaping @Sendable (String) -> Void) { (self.most, self.dropped) = (most, dropped) }

    /// Takes capacity for a client that has left `own` bytes unread; false if there is none.
    func take(_ count: Int, beside own: Int) -> Bool {
        guard own < Self.share || bytes.load(ordering: .relaxed) + count <= most else { return false }
        bytes.add(count, ordering: .relaxed)
        return true
    }

    func give(_ count: Int) { bytes.subtract(count, ordering: .relaxed) }

    /// Reports a client that got none.
    func tell() {
        dropped("a command's answer was cut off: all unread answers have at most \(counted(most, "byte")) together")
    }
}
