import KiiPush
import KiiPushDelivery
import Synchronization

/// Limits the log to so many lines a minute of each kind and route, and one with the count of the rest.
final class LineQuota: Sendable {
    /// Lines with the same key share a quota.
    struct Key: Sendable, Hashable {
        /// The outcome or the event.
        let kind: String
        /// The first route, or the transport; empty if there is none.
        var route = ""
    }

    private struct Window {
        let end: MonotonicInstant
        let priority: JournalLine.Priority
        var count = 0

        mutating func add() -> Int {
            count += 1
            return count
        }
    }

    private static let length = Duration.seconds(60)

    private let most: Int
    private let clock: any ReceiverClock
    private let windows = Mutex<[Key: Window]>([:])

    init(lines: Int = 60, clock: any ReceiverClock = SystemClock()) {
        most = lines
        self.clock = clock
    }

    /// Counts a line; returns whether to write it.
    func takes(_ key: Key, _ priority: JournalLine.Priority) -> Bool {
        let end = clock.now.advanced(by: Self.length)
        return windows.withLock { windows in windows[key, default: Window(end: end, priority: priority)].add() <= most }
    }

    /// The counts of omitted lines for keys whose minute is over, or for all at the end; their minute begins again.
    func leftOut(all: Bool = false) -> [JournalLine] {
        let now = clock.now
        let over = windows.withLock { windows in
            let over = windows.filter { all || $0.value.end <= now }
            for key in over.keys { windows[key] = nil }
            return over
        }
        return over.filter { $0.value.count > most }.sorted {
            ($0.value.end, $0.key.kind) < ($1.value.end, $1.key.kind)
        }
        .map { key, window in
            let route = key.route.isEmpty ? "" : "; \(Suggestion.shown(key.route))"
            let lines = counted(window.count - most, "line")
            return JournalLine(
                window.priority, "left out \(lines) within \(Self.length.components.seconds) s: \(key.kind)\(route)")
        }
    }
}

extension LineQuota.Key {
    init(_ trace: Trace) { self.init(kind: trace.outcome.name, route: trace.routes.first ?? "") }

    init(_ event: ServiceEvent) {
        switch event {
        case .retry(_, let route, _, _, _): self.init(kind: "retry", route: route)
        case .overrun(_, let route, let isLeft): self.init(kind: isLeft ? "handler left" : "overrun", route: route)
        case .storeFailed: self.init(kind: "store failed")
        case .notDurable: self.init(kind: "not durable")
        case .recovering: self.init(kind: "recovering")
        case .transport(let name, let event):
            let isGap = if case .possibleGap = event { true } else { false }
            self.init(kind: isGap ? "messages may be lost" : event.name, route: name)
        }
    }
}
