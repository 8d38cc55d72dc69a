package import KiiPush
package import KiiPushDelivery
import Synchronization

/// Limits log lines so that no key fills the log: so many a minute for each kind and key, then one line with the count
/// of the rest.
///
/// A kind is an outcome or an event; a key is the route with the bucket, topic or sender. A route alone has six times
/// the quota. Memory is bounded: beyond 1,024 keys a minute, only routes are counted. A message of which a line was
/// written always gets its last line, too.
package final class LineQuota: Sendable {
    /// Lines with the same key share a quota.
    package struct Key: Sendable, Hashable {
        /// The kind of line: an outcome, an event.
        package let kind: String
        /// The first route, or the transport; empty if there is none.
        package let route: String
        /// The bucket, topic or sender, as a digest.
        let group: DedupeKey?

        /// Makes the key of a line without a bucket, a topic or a sender.
        package init(kind: String, route: String = "") { self.init(kind, route, nil) }

        init(_ kind: String, _ route: String, _ group: DedupeKey?) {
            (self.kind, self.route, self.group) = (kind, route, group)
        }

        fileprivate var wide: Key { Key(kind, route, nil) }
    }

    /// The lines of one key in its current period.
    private struct Window {
        let end: MonotonicInstant
        var priority: JournalLine.Priority
        var written = 0
        var leftOut = 0
    }

    private static let mostKeys = 1024
    private static let mostBegun = 4096
    /// The messages of which a line was written, but not the last; and in which order they came.
    private let begun = Mutex<(ids: Set<UInt64>, order: ArraySlice<UInt64>)>(([], []))
    private let most: Int
    private let length: Duration
    private let clock: any ReceiverClock
    private let windows = Mutex<(all: [Key: Window], next: MonotonicInstant?)>(([:], nil))

    /// Makes an unused quota.
    ///
    /// - Parameters:
    ///   - lines: how many lines of one key are written per period.
    ///   - length: the period.
    ///   - clock: the clock.
    package init(lines: Int = 10, per length: Duration = .seconds(60), clock: any ReceiverClock = SystemClock()) {
        most = max(lines, 0)
        self.length = length
        self.clock = clock
    }

    /// The lines to write: the line itself, unless its key has used its quota; before it, counts of omitted lines.
    ///
    /// - Parameters:
    ///   - key: the line's key.
    ///   - priority: the line's priority.
    ///   - part: the message that the line is about; nil if it is about none.
    ///   - line: makes the line; not called if it is omitted.
    /// - Returns: the lines.
    package func lines(
        _ key: Key, priority: JournalLine.Priority = .information, of part: MessagePart? = nil,
        _ line: () -> JournalLine
    ) -> [JournalLine] {
        let isDue = if case .end(let id)? = part { end(of: id) } else { false }
        let now = clock.now
        let (before, isWritten) = windows.withLock { windows in
            let before = Self.close(&windows, now, length)
            let narrow = key.group == nil || windows.all.count < Self.mostKeys ? key : key.wide
            return (before, take(narrow, priority, &windows, now, isDue: isDue))
        }
        if isWritten, case .middle(let id)? = part { began(id) }
        return isWritten ? before + [line()] : before
    }

    /// A part of the log of a message.
    package enum MessagePart: Sendable {
        case middle(UInt64)
        case end(UInt64)
    }

    /// Records that a line of a message was written, so that its last one will be, too.
    package func began(_ id: UInt64) {
        begun.withLock { begun in
            guard begun.ids.insert(id).inserted else { return }
            begun.order.append(id)
            // Of ids that have ended, only the place in the order is left.
            while begun.order.count > Self.mostBegun { begun.ids.remove(begun.order.removeFirst()) }
        }
    }

    private func end(of id: UInt64) -> Bool { begun.withLock { $0.ids.remove(id) != nil } }

    /// The counts of omitted lines for keys whose period is over, or for all at the end.
    package func leftOut(all: Bool = false) -> [JournalLine] {
        let now = clock.now
        return windows.withLock { windows in
            let lines = Self.close(&windows, all ? nil : now, length)
            return lines
        }
    }

    /// The number of known keys.
    var keys: Int { windows.withLock { $0.all.count } }

    /// Counts a line; returns whether to write it.
    private func take(
        _ key: Key, _ priority: JournalLine.Priority, _ windows: inout (all: [Key: Window], next: MonotonicInstant?),
        _ now: MonotonicInstant, isDue: Bool
    ) -> Bool {
        for one in key.group == nil ? [key] : [key, key.wide] {
            let limit = one.group == nil ? most * 6 : most
            let end = now.advanced(by: length)
            if windows.all[one] == nil {
                windows.all[one] = Window(end: end, priority: priority)
                windows.next = windows.next ?? end
            }
            guard isDue || windows.all[one]?.written ?? 0 < limit else {
                windows.all[one]?.leftOut += 1
                return false
            }
            windows.all[one]?.written += 1
        }
        return true
    }

    /// Removes the keys whose period is over, and returns the counts of their omitted lines; of all keys without a
    /// time.
    private static func close(
        _ windows: inout (all: [Key: Window], next: MonotonicInstant?), _ now: MonotonicInstant?, _ length: Duration
    ) -> [JournalLine] {
        if let now { guard let next = windows.next, next <= now else { return [] } }
        let over = windows.all.filter { window in now.map { window.value.end <= $0 } ?? true }
        for key in over.keys { windows.all[key] = nil }
        windows.next = windows.all.values.map(\.end).min()
        return over.filter { $0.value.leftOut > 0 }.sorted { ($0.value.end, $0.key.kind) < ($1.value.end, $1.key.kind) }
            .map { key, window in JournalLine(window.priority, Self.text(key, window.leftOut, length)) }
    }

    private static func text(_ key: Key, _ count: Int, _ length: Duration) -> String {
        let route = key.route.isEmpty ? "" : "; \(Suggestion.shown(key.route))"
        let group = key.group == nil ? "" : "; one bucket, topic or sender"
        let lines = count == 1 ? "line" : "lines"
        return "left out \(count) \(lines) within \(length.components.seconds) s: \(key.kind)\(route)\(group)"
    }
}

extension LineQuota.Key {
    /// The key of a line about a message's outcome.
    package init(_ trace: Trace) {
        let reason = trace.outcome.reason.map { " (\($0))" } ?? ""
        self.init(trace.outcome.name + reason, trace.routes.first ?? "", trace.message?.groupDigest)
    }

    /// The key of a line about a service's event.
    package init(_ event: ServiceEvent) {
        switch event {
        case .retry(_, let route, _, _, _): self.init(kind: "retry", route: route)
        case .overrun(_, let route, let isLeft): self.init(kind: isLeft ? "handler left" : "overrun", route: route)
        case .storeFailed: self.init(kind: "store failed")
        case .notDurable: self.init(kind: "not durable")
        case .transport(let name, let event):
            let isGap = if case .possibleGap = event { true } else { false }
            self.init(kind: isGap ? "messages may be lost" : event.name, route: name)
        }
    }
}

extension LineQuota.MessagePart {
    /// What of a message's log the line about its outcome is.
    package init(_ trace: Trace) {
        self = if case .paced = trace.outcome { .middle(trace.messageID) } else { .end(trace.messageID) }
    }

    /// What of a message's log the line about an event is; nil if the event is of no message.
    package init?(_ event: ServiceEvent) {
        switch event {
        case .retry(let id, _, _, _, _), .overrun(let id, _, _): self = .middle(id)
        case .storeFailed, .notDurable, .transport: return nil
        }
    }
}
