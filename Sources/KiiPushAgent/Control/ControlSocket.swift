import CLibrary
import KiiPush
package import KiiPushSystem
import Synchronization

/// A socket through which one service's commands reach the process that runs it.
///
/// Only the service's user and root may use it: its mode is 0600, and the system confirms each client's user. Eight
/// commands run at once; a ninth waits. A client that does not send a whole command within five seconds is
/// disconnected; while eight are connected, within half a second, and so is one that has not read its answer for five
/// seconds. Unread answers have at most 64 MiB together, and each the first MiB beyond that: a client that exceeds it
/// is disconnected.
package struct ControlSocket: Sendable {
    package let path: String

    private static let mostClients = 8
    /// The most bytes of all unread answers: that of all dead letters fits, also if each byte is shown as an escape.
    static let mostUnread = 64 << 20
    /// How long a client, and an agent that reports its identity or its status, may take.
    package static let patience = Duration.seconds(5)
    /// How long a client may take to send its command while others may wait for its place.
    private static let crowdedPatience = Duration.milliseconds(500)

    package init(path: String) { self.path = path }

    /// Serves commands until the task is cancelled; answers under way then have until `farewell` to end.
    ///
    /// `listening` is called when clients can connect, and `dropped` once for each client that is disconnected because
    /// of its unread answer, with the reason; `answer` performs a command, prints its lines, and returns the exit code.
    /// If somebody removes the socket, it listens again.
    ///
    /// - Throws: why it cannot listen.
    package func serve(
        shortages: Shortages? = nil, patience: Duration = ControlSocket.patience, farewell: Duration = .seconds(1),
        lookEvery: Duration = .seconds(5), mostUnread: Int = ControlSocket.mostUnread,
        listening: @escaping @Sendable () -> Void = {}, dropped: @escaping @Sendable (String) -> Void = { _ in },
        _ answer: @escaping @Sendable ([String], ControlReply) async -> Int32
    ) async throws {
        let signal: ThreadSignal
        do throws(ErrorNumber) { signal = try ThreadSignal() } catch { throw SocketError.failed(path: path, error) }
        let free = ClientCount(Self.mostClients, signal)
        let unread = UnreadAnswers(most: mostUnread, dropped)
        try await withTaskCancellationHandler {
            try await withThread {
                Result { () throws(SocketError) in
                    var listener = try listen()
                    listening()
                    var pause = AcceptPause(shortages, what: "commands")
                    while !signal.hasEnded {
                        guard let client = Self.nextClient(listener, signal, free, &pause, lookEvery) else {
                            if !listener.isInPlace { listener = try listen() }
                            continue
                        }
                        free.take()
                        startThread {
                            Self.serve(ControlReply(client, unread), client, free, patience, answer)
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

    private func listen() throws(SocketError) -> SocketListener {
        try SocketListener(path, mode: 0o600, ofAnyLength: true)
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
        _ reply: ControlReply, _ client: Int32, _ free: ClientCount, _ patience: Duration,
        _ answer: @escaping @Sendable ([String], ControlReply) async -> Int32
    ) {
        if let arguments = command(from: client, free, patience) {
            Task { reply.end(await answer(arguments, reply)) }
        } else {
            reply.error("no complete command was received")
            reply.end(64)
        }
        reply.sendAll { free.isAny && !free.isOver }
    }

    /// Reads a command; nil if none arrives in time.
    private static func command(from client: Int32, _ free: ClientCount, _ patience: Duration) -> [String]? {
        let start = ContinuousClock.now
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while start.duration(to: .now) < (free.isAny ? patience : crowdedPatience) {
            switch ControlMessage.read(bytes) {
            case .whole(let arguments): return arguments
            case .wrong: return nil
            case .part: break
            }
            var polled = [pollfd(fd: client, events: Int16(POLLIN), revents: 0)]
            // Looks again soon whether others wait.
            pollAll(&polled, for: .milliseconds(100))
            let count = readOnce(client, into: &buffer)
            if count > 0 { bytes += buffer[..<count] } else if count == 0 { return nil }
        }
        return nil
    }

    // MARK: The other end

    /// Sends a command to the process that serves the socket, passes on its answer, and returns the exit code.
    ///
    /// A line with control characters is passed on with escapes, as `EscapedText` makes them. The process may be silent
    /// for `patience`. At `end` it stops listening, as if it had ended with 0. A command that is too long is not sent,
    /// and answered with the reason.
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
        guard let address = UnixAddress(ofAnyLength: path) else {
            // The directory of a longer path could not be opened.
            throw path.utf8.count > UnixAddress.longestPath ? .nobodyAnswers(path: path, .current) : .badPath(path)
        }
        // Not blocking: a process that hangs accepts nobody, and connecting to its full queue would wait for ever.
        let descriptor = try SocketListener.makeSocket(path)
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
                let text = ControlMessage.printable(bytes.dropFirst())
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
            guard polled[0].revents != 0 else {
                // Only a signal ends a wait without a limit.
                if patience == nil { continue }
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
    /// - Throws: why there is no answer, at the latest after `patience`.
    package func firstLine(
        of arguments: [String], patience: Duration = Self.patience
    ) async throws -> (code: Int32, line: String) {
        let heard = Mutex<String?>(nil)
        let hear: @Sendable (String) -> Void = { line in heard.withLock { $0 = $0 ?? line } }
        let code = try await ask(arguments, patience: patience, print: hear, error: hear)
        return (code, heard.withLock { $0 } ?? "")
    }

    /// Waits until the process has answered, for at most ``patience``; before a command that may be silent for longer,
    /// during which a process that hangs would look like one with nothing to say.
    ///
    /// - Throws: why there is no answer.
    package func meet() async throws { _ = try await firstLine(of: ["who"]) }
}

extension SocketError {
    package static let brokenOff = ErrorNumber(rawValue: ECONNRESET)
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
    var isOver: Bool { signal.hasEnded }

    func take() { free.subtract(1, ordering: .relaxed) }

    func give() {
        free.add(1, ordering: .relaxed)
        signal.raise()
    }
}
