import KiiPush
import KiiPushSystem
import Synchronization

/// The watchers of an agent's messages: a few, each with a bounded queue, so that none of them slows the agent.
final class TapBoard: Sendable {
    static let mostReaders = 4

    private struct State {
        var readers: [TapReader] = []
        var isOver = false
    }

    private let state = Mutex(State())

    /// Passes a message that has ended to the watchers.
    func offer(_ trace: Trace) {
        let readers = state.withLock { $0.readers }
        if readers.isEmpty { return }
        let now = UTCDate.now
        for reader in readers { reader.offer(trace, now) }
    }

    /// Adds a watcher; nil if there are too many, or the agent ends.
    func add(_ options: TapOptions) throws(ErrorNumber) -> TapReader? {
        let reader = try TapReader(options)
        return state.withLock { state in
            guard !state.isOver, state.readers.count < Self.mostReaders else { return nil }
            state.readers.append(reader)
            return reader
        }
    }

    func remove(_ reader: TapReader) {
        state.withLock { $0.readers.removeAll { $0 === reader } }
    }

    /// Whether the agent ends, so that nobody can watch it any more.
    var isOver: Bool { state.withLock { $0.isOver } }

    /// Reports the agent's end to all; the socket of commands waits until they have received their queues.
    func end() {
        let readers = state.withLock { state in
            state.isOver = true
            return state.readers
        }
        for reader in readers { reader.end() }
    }
}

extension TapBoard {
    /// Serves a watcher, in the agent, until it has enough or has gone, or the agent ends.
    func serve(_ arguments: [String], app: String?, routes: [String], _ reply: ControlReply) async -> ExitCode {
        let reader: TapReader
        do {
            guard let added = try add(TapOptions.read(arguments) ?? TapOptions()) else {
                let isOver = isOver
                let why = isOver ? "the agent is stopping" : "\(Self.mostReaders) clients are watching already"
                reply.error("kiipush tap: \(why)")
                return isOver ? .nobody : .failed
            }
            reader = added
        } catch let error as Arguments.Mistake {
            reply.error("kiipush tap: \(error.text)")
            return .usage
        } catch {
            reply.error("kiipush tap: the agent cannot be watched: \(error)")
            return .failed
        }
        defer { remove(reader) }
        if let route = reader.options.route, !routes.containsExactly(route) {
            let unknown = Suggestion.unknown("route", route, known: routes)
            reply.error("kiipush tap: \(escaped(unknown)); waiting until the rules have one of that name")
        }
        let format = reader.options.format
        let isWhole = await reply.stream(reader.signal) {
            let (messages, leftOut, isOver) = reader.take()
            var lines = messages.map { $0.line(format, app: app) }
            if leftOut > 0 { lines.append(Self.note(leftOut, format)) }
            if !lines.isEmpty { return .lines(lines) }
            return isOver ? .end : .later
        }
        if isWhole, reader.hasAgentEnded { reply.error("kiipush tap: the agent has ended") }
        return .fine
    }

    /// The line about messages that a slow reader has missed.
    private static func note(_ count: Int, _ format: ReportFormat) -> String {
        switch format {
        case .json: #"{"leftOut":\#(count)}"#
        case .text: "-- \(count) skipped: they arrived faster than they were read"
        }
    }
}

/// A watcher: its unsent messages, and how many were skipped because it was too slow.
final class TapReader: Sendable {
    /// The most messages that wait for a watcher, and the most bytes of their payloads.
    static let mostMessages = 256
    static let mostBytes = 1 << 20

    private struct State {
        var messages: [TappedMessage] = []
        var bytes = 0
        var leftOut = 0
        var left: Int?
        var isOver = false
    }

    let options: TapOptions
    /// Raised when there are messages to take.
    let signal: ThreadSignal
    private let state: Mutex<State>

    init(_ options: TapOptions) throws(ErrorNumber) {
        self.options = options
        signal = try ThreadSignal()
        state = Mutex(State(left: options.count))
    }

    func offer(_ trace: Trace, _ now: UTCDate) {
        guard options.takes(trace) else { return }
        state.withLock { state in
            guard state.left != 0, !state.isOver else { return }
            let size = trace.message?.raw.bytes.count ?? 0
            guard state.messages.count < Self.mostMessages,
                state.messages.isEmpty || state.bytes + size <= Self.mostBytes
            else {
                state.leftOut += 1
                return
            }
            state.messages.append(TappedMessage(trace: trace, time: now))
            state.bytes += size
            state.left = state.left.map { $0 - 1 }
        }
        signal.raise()
    }

    /// The messages since the last call, how many were skipped before, and whether the end is reached.
    func take() -> (messages: [TappedMessage], leftOut: Int, isOver: Bool) {
        state.withLock { state in
            let taken = (state.messages, state.leftOut, state.isOver || state.left == 0)
            (state.messages, state.bytes, state.leftOut) = ([], 0, 0)
            return taken
        }
    }

    func end() {
        state.withLock { $0.isOver = true }
        signal.raise()
    }

    var hasAgentEnded: Bool { state.withLock { $0.isOver } }
}
