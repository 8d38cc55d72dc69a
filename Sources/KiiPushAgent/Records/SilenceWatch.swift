package import KiiPush
import Synchronization

/// How long an agent, or one of its routes, may be silent before that is reported.
public struct SilenceLimit: Sendable, Hashable {
    /// The id of the route whose messages count; empty for messages of any kind.
    public let route: String
    /// The longest allowed time since the beginning or the last message.
    public let length: Duration

    /// Sets a limit.
    public init(route: String = "", length: Duration) { (self.route, self.length) = (route, length) }
}

/// Notices when messages stop arriving: all of them, or those of one route, such as a topic's.
///
/// A connection may seem healthy while a subscription is lost; only the silence shows it. A message counts whatever its
/// outcome: a duplicate is a sign of life too. It keeps one time for each limit, for at most 64 limits.
package final class SilenceWatch: Sendable {
    /// A silence has become too long, or has ended.
    package struct Change: Sendable, Hashable, CustomStringConvertible {
        /// The route; empty for messages of any kind.
        package let route: String
        package let isSilent: Bool
        package let length: Duration

        package var description: String {
            let seconds = Duration.seconds(length.components.seconds).ruleText
            let what = route.isEmpty ? "nothing" : "nothing for route \(Suggestion.shown(route))"
            return isSilent
                ? "silent: \(what) came for \(seconds)" : "no longer silent: \(what) had come for \(seconds)"
        }
    }

    private struct Watched {
        let limit: SilenceLimit
        var last: MonotonicInstant
        /// The beginning of the silence that was reported.
        var told: MonotonicInstant?
    }

    /// The most limits; further ones are ignored.
    package static let mostLimits = 64

    private let clock: any ReceiverClock
    private let watched: Mutex<[Watched]>

    /// Starts to watch: silence counts from now on, and several limits of one route all apply.
    package init(_ limits: [SilenceLimit], clock: any ReceiverClock = SystemClock()) {
        self.clock = clock
        let now = clock.now
        watched = Mutex(limits.prefix(Self.mostLimits).map { Watched(limit: $0, last: now) })
    }

    package func saw(_ trace: Trace) {
        watched.withLock { watched in
            if watched.isEmpty { return }
            let now = clock.now
            for index in watched.indices {
                let route = watched[index].limit.route
                if route.isEmpty || trace.routes.containsExactly(route) {
                    watched[index].last = now
                }
            }
        }
    }

    /// The silences that have become too long since the last check, and those that have ended.
    package func look() -> [Change] {
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

    /// The current silences that are too long, and their lengths.
    package var silent: [(route: String, length: Duration)] {
        let now = clock.now
        return watched.withLock { watched in
            watched.compactMap { watched in
                let length = watched.last.duration(to: now)
                return length >= watched.limit.length ? (watched.limit.route, length) : nil
            }
        }
    }

    /// For each watched route, and for all messages under an empty name, whether it is silent for too long.
    package var states: [String: Bool] {
        let now = clock.now
        return watched.withLock { watched in
            Dictionary(
                watched.map { ($0.limit.route, $0.last.duration(to: now) >= $0.limit.length) },
                uniquingKeysWith: { $0 || $1 })
        }
    }
}
