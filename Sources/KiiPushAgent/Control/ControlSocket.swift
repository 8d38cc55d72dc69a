import CLibrary
import KiiPush
package import KiiPushSystem
import Synchronization

/// A socket through which one service's commands reach the process that runs it.
///
/// Only the service's user and root may use it: its mode is 0600, and the system confirms each client's user. Eight
/// commands run at once; a ninth waits. A client that does not send a whole command within five seconds is
/// disconnected, and so is, if eight are connected, one that has not read its answer for as long. Unread answers have
/// at most 64 MiB together, and each the first MiB beyond that: a client that exceeds it is disconnected.
package struct ControlSocket: Sendable {
    package let path: String

    private static let mostClients = 8
    /// The most bytes of all unread answers: that of all dead letters fits, also if each byte is shown as an escape.
    static let mostUnread = 64 << 20
    /// How long a client, and an agent that reports its identity or its status, may take.
    package static let patience = Duration.seconds(5)

    /// Names a socket; it does not exist until it is served.
    package init(path: String) { self.path = path }

    /// Serves commands until the task is cancelled; answers under way then have until `farewell` to end.
    ///
    /// `listening` is called when clients can connect, and `dropped` once for each client that is disconnected because
    /// of its unread answer, with the reason; `answer` performs a command, prints its lines, and returns the exit code.
    /// If somebody removes the socket, it listens again.
    ///
    /// - Throws: why it cannot listen.
    package func serve(
        shortages: Shortages? = nil, farewell: Duration = .seconds(1), lookEvery: Duration = .seconds(5),
        mostUnread: Int = ControlSocket.mostUnread, listening: @escaping @Sendable () -> Void = {},
        dropped: @escaping @Sendable (String) -> Void = { _ in },
        _ answer: @escaping @Sendable ([String], ControlReply) async -> Int32
    ) async throws {
        let signal: ThreadSignal
        do throws(ErrorNumber) { signal = try ThreadSignal() } catch { throw SocketError.failed(path: path, error) }
        let free = ClientCount(Self.mostClients, signal)
        let unread = UnreadAnswers(most: mostUnread, dropped)
        try await withTaskCancellationHandler {
            try await withThread { [path] in
                Result { () throws(SocketError) in
                    var listener = try SocketListener(path, mode: 0o600)
                    listening()
                    var pause = AcceptPause(shortages, what: "commands")
                    while !signal.hasEnded {
                        guard let client = Self.nextClient(listener, signal, free, &pause, lookEvery) else {
                            if !listener.isInPlace { listener = try SocketListener(path, mode: 0o600) }
                            continue
                        }
                        free.take()
                        startThread {
                            Self.serve(ControlReply(client, unread), client, free, answer)
                            free.give()
                        }
                    }
                    // The process is about to end, and whoever waits would take that for no answer.
                    let end = ContinuousClock.now + farewell
                    var nothing: [pollfd] = []
                    while !free.isAll, ContinuousClock.now < end { pollAll(&nothing, for: .milliseconds(5)) }
                }
            }.get()
        } onCancel: {
            signal.end()
        }
    }

    private static func nextClient(
        _ listener: borrowing SocketListener, _ signal: ThreadSignal, _ free: ClientCount, _ pause: inout AcceptPause,
        _ longest: Duration
    ) -> Int32? {
        var polled = [
            pollfd(fd: signal.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: free.isAny && pause.left == nil ? listener.descriptor : -1, events: Int16(POLLIN), revents: 0),
        ]
        pollAll(&polled, for: min(pause.left ?? longest, longest))
        if polled[0].revents != 0 { signal.clear() }
        guard polled[1].revents != 0 || pause.isDue && free.isAny, !signal.hasEnded else { return nil }
        do throws(ErrorNumber) {
            let client = try listener.acceptClient()
            pause.succeeded()
            guard let client else { return nil }
            guard let user = peerUser(client), [geteuid(), 0].contains(user) else {
                close(client)
                return nil
            }
            return client
        } catch {
            _ = pause.failed(error)
            return nil
        }
    }

    /// Reads a command, has it performed by a task, and sends what that prints; blocks while the client does not read.
    private static func serve(
        _ reply: ControlReply, _ client: Int32, _ free: ClientCount,
        _ answer: @escaping @Sendable ([String], ControlReply) async -> Int32
    ) {
        if let arguments = command(from: client) {
            Task { reply.end(await answer(arguments, reply)) }
        } else {
            reply.error("no complete command was received")
            reply.end(64)
        }
        reply.sendAll { free.isAny && !free.isOver }
    }

    /// Reads a command; nil if none arrives in time.
    private static func command(from client: Int32) -> [String]? {
        let end = ContinuousClock.now + patience
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while ContinuousClock.now < end {
            switch ControlMessage.read(bytes) {
            case .whole(let arguments): return arguments
            case .wrong: return nil
            case .part: break
            }
            var polled = [pollfd(fd: client, events: Int16(POLLIN), revents: 0)]
            pollAll(&polled, for: ContinuousClock.now.duration(to: end))
            let count = readOnce(client, into: &buffer)
            if count > 0 { bytes += buffer[..<count] } else if count == 0 { return nil }
        }
        return nil
    }

    // MARK: The other end

    /// Sends a command to the process that serves the socket, passes on its answer, and returns the exit code.
    ///
    /// It may be silent for `patience`. At `end` it stops listening, as if it had ended with 0. A command that is too
    /// long is not sent, and answered with the reason.
    ///
    /// - Throws: why there is no answer.
    package func ask(
        _ arguments: [String], patience: Duration? = nil, until end: ContinuousClock.Instant? = nil,
        print: @escaping @Sendable (String) -> Void, error: @escaping @Sendable (String) -> Void
    ) async throws -> Int32 {
        if let excess = ControlMessage.excess(arguments) {
            error("kiipush \(escaped(arguments.first ?? "")): \(excess)")
            return ExitCode.usage.rawValue
        }
        return try await withThread {
            Result { () throws(SocketError) in try answer(to: arguments, patience, end, print, error) }
        }.get()
    }

    private func answer(
        to arguments: [String], _ patience: Duration?, _ end: ContinuousClock.Instant?,
        _ print: (String) -> Void, _ error: (String) -> Void
    ) throws(SocketError) -> Int32 {
        guard let address = UnixAddress(path: path) else { throw .badPath(path) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw .failed(path: path, .current) }
        defer { close(descriptor) }
        guard unsafe address.withPointer({ unsafe connect(descriptor, $0, $1) }) == 0 else {
            throw .nobodyAnswers(path: path, .current)
        }
        let command = ControlMessage.command(arguments)
        guard unsafe send(descriptor, command, command.count, Int32(MSG_NOSIGNAL)) == command.count else {
            throw .nobodyAnswers(path: path, .current)
        }
        // Large enough for a line for each of ten thousand routes: the agent limits its answers.
        var splitter = LineSplitter(limit: 1 << 24)
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            while case .bytes(let bytes, _)? = splitter.next() {
                let text = String(decoding: bytes.dropFirst(), as: UTF8.self)
                switch bytes.first {
                case UInt8(ascii: "o"): print(text)
                case UInt8(ascii: "e"): error(text)
                case UInt8(ascii: "x"): return Int32(text) ?? 1
                default: break
                }
            }
            var polled = [pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)]
            let left = end.map { max(ContinuousClock.now.duration(to: $0), .zero) }
            pollAll(&polled, for: left ?? patience)
            if let left, left == .zero || polled[0].revents == 0 { return 0 }
            guard polled[0].revents != 0 || patience == nil else {
                throw .nobodyAnswers(path: path, ErrorNumber(rawValue: ETIMEDOUT))
            }
            let count = readOnce(descriptor, into: &buffer)
            guard count > 0 else { throw .nobodyAnswers(path: path, count < 0 ? .current : SocketError.brokenOff) }
            splitter.append(buffer[..<count])
        }
    }
}

extension ControlSocket {
    package init(state directory: String) { self.init(path: "\(directory)/control.sock") }

    /// Sends a command that is answered in one line; returns the first one of output or error output, else none.
    ///
    /// - Throws: why there is no answer, at the latest after ``patience``.
    package func firstLine(of arguments: [String]) async throws -> (code: Int32, line: String) {
        let heard = Mutex<String?>(nil)
        let hear: @Sendable (String) -> Void = { line in heard.withLock { $0 = $0 ?? line } }
        let code = try await ask(arguments, patience: Self.patience, print: hear, error: hear)
        return (code, heard.withLock { $0 } ?? "")
    }
}

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

    fileprivate init(_ client: Int32, _ unread: UnreadAnswers) { (self.client, self.unread) = (client, unread) }

    package func print(_ text: String) { add(ControlMessage.lines("o", text)) }

    /// Whether the client is still there, as far as the system knows; ask while its command is performed.
    package var isHeard: Bool {
        var polled = [pollfd(fd: client, events: 0, revents: 0)]
        pollAll(&polled, for: .zero)
        return polled[0].revents & Int16(POLLHUP | POLLERR) == 0
    }

    package func error(_ text: String) { add(ControlMessage.lines("e", text)) }

    fileprivate func end(_ code: Int32) { add(ControlMessage.lines("x", "\(code)"), isLast: true) }

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
    fileprivate func sendAll(mayRest: () -> Bool) {
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

extension SocketError {
    /// The answer ended before its end.
    package static let brokenOff = ErrorNumber(rawValue: ECONNRESET)
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
private final class UnreadAnswers: Sendable {
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

/// How many more clients may be served.
private final class ClientCount: Sendable {
    private let most: Int
    private let free: Atomic<Int>
    private let signal: ThreadSignal

    init(_ count: Int, _ signal: ThreadSignal) {
        most = count
        free = Atomic(count)
        self.signal = signal
    }

    var isAny: Bool { free.load(ordering: .relaxed) > 0 }
    var isAll: Bool { free.load(ordering: .relaxed) == most }
    /// Whether no more clients are served.
    var isOver: Bool { signal.hasEnded }

    func take() { free.subtract(1, ordering: .relaxed) }

    func give() {
        free.add(1, ordering: .relaxed)
        signal.raise()
    }
}
