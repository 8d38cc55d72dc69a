public import KiiPush
import Synchronization

/// Notices that nothing comes any more: nothing at all, or nothing for one route, such as that of a topic.
///
/// ```swift
/// let silence = SilenceWatch([SilenceWatch.Limit(route: "news", length: .seconds(3600))])
/// receiver.onTrace { silence.saw($0) }
/// let watching = Task { await silence.run { change in print(change) } }
/// ```
///
/// A link may seem healthy while a subscription is lost; only the silence shows it. A message counts however it ends: a
/// duplicate is a sign of life too. It keeps one moment for each limit, of which there are 64 at most.
public final class SilenceWatch: Sendable {
    /// How long a silence may last.
    public struct Limit: Sendable, Hashable {
        /// The id of the route whose messages count; empty for messages of any kind.
        public let route: String
        /// How long nothing may come, from the beginning or the last message on.
        public let length: Duration

        /// Sets a limit.
        public init(route: String = "", length: Duration) { (self.route, self.length) = (route, length) }
    }

    /// That a silence has become too long, or is over.
    public struct Change: Sendable, Hashable, CustomStringConvertible {
        /// The route; empty for messages of any kind.
        public let route: String
        /// Whether it is silent now.
        public let isSilent: Bool
        /// How long the silence has lasted.
        public let length: Duration

        /// One line for a person.
        public var description: String {
            let seconds = Duration.seconds(length.components.seconds).ruleText
            let what = route.isEmpty ? "nothing" : "nothing for route \(Suggestion.shown(route))"
            return isSilent
                ? "silent: \(what) came for \(seconds)" : "no longer silent: \(what) had come for \(seconds)"
        }
    }

    private struct Watched {
        let limit: Limit
        var last: MonotonicInstant
        /// When the silence began that was told.
        var told: MonotonicInstant?
    }

    /// The most limits; further ones are left out.
    package static let mostLimits = 64

    private let clock: any ReceiverClock
    private let watched: Mutex<[Watched]>
    private let isEmpty: Bool

    /// Begins to watch: silence counts from now on.
    ///
    /// - Parameters:
    ///   - limits: how long each silence may last; of two of one route, each counts.
    ///   - clock: what tells the time.
    public init(_ limits: [Limit], clock: any ReceiverClock = SystemClock()) {
        self.clock = clock
        let now = clock.now
        isEmpty = limits.isEmpty
        watched = Mutex(limits.prefix(Self.mostLimits).map { Watched(limit: $0, last: now) })
    }

    /// Takes down that a message has come.
    public func saw(_ trace: Trace) {
        if isEmpty { return }
        let now = clock.now
        watched.withLock { watched in
            for index in watched.indices {
                let route = watched[index].limit.route
                if route.isEmpty || trace.routes.contains(where: { $0.utf8.elementsEqual(route.utf8) }) {
                    watched[index].last = now
                }
            }
        }
    }

    /// Which silences have become too long since the last look, and which are over.
    public func look() -> [Change] {
        let now = clock.now
        return watched.withLock { watched in
            watched.indices.compactMap { index in
                let (limit, last) = (watched[index].limit, watched[index].last)
                if let told = watched[index].told {
                    guard last > told else { return nil }
                    watched[index].told = nil
                    return Change(route: limit.route, isSilent: false, length: told.duration(to: last))
                }
                let length = last.duration(to: now)
                guard length >= limit.length else { return nil }
                watched[index].told = last
                return Change(route: limit.route, isSilent: true, length: length)
            }
        }
    }

    /// Looks once a second until the task is cancelled; returns at once where there is no limit.
    ///
    /// - Parameter tell: called with each change.
    public func run(_ tell: @Sendable (Change) -> Void) async {
        if isEmpty { return }
        while !Task.isCancelled {
            for change in look() { tell(change) }
            do { try await clock.sleep(until: clock.now.advanced(by: .seconds(1))) } catch { return }
        }
    }

    /// Who is silent for too long now, and for how long.
    public var silent: [(route: String, length: Duration)] {
        let now = clock.now
        return watched.withLock { watched in
            watched.compactMap { watched in
                let length = watched.last.duration(to: now)
                return length >= watched.limit.length ? (watched.limit.route, length) : nil
            }
        }
    }

    /// Of each route that is watched, and of all messages with an empty name, whether it is silent for too long.
    public var states: [String: Bool] {
        let silent = Set(silent.map(\.route))
        return watched.withLock { watched in
            Dictionary(
                watched.map { ($0.limit.route, silent.contains($0.limit.route)) }, uniquingKeysWith: { one, _ in one })
        }
    }
}
