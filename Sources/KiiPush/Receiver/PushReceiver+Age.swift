// How old a message may be: judged for each route when its handler would start.

import Synchronization

extension PushReceiver {
    /// Whether a message is too old for a route now; counts and traces it if it is.
    ///
    /// - Parameters:
    ///   - message: the message.
    ///   - route: the route whose handler would start.
    ///   - standard: the limit for routes without delivery settings of their own.
    /// - Returns: whether the handler must not start.
    // Never inlined: nearly no route has a limit.
    @inline(never)
    func isTooOld(_ message: RoutedMessage, for route: Route, _ standard: Duration?) -> Bool {
        guard let limit = route.maxAge ?? (route.delivery == nil ? standard : nil), !message.isReplayed else {
            return false
        }
        let age = age(of: message)
        guard age > limit else { return false }
        route.expired.add(1, ordering: .relaxed)
        message.recorder?.expired(route, age, limit)
        return true
    }

    /// How old a message is: the time since it was sent or, where that is longer or nobody knows it, since it arrived.
    ///
    /// A wall clock that was never set must not make messages old. One that is before the message's own time counts for
    /// nothing; and an arrival that lies before 2010 by a clock that shows a later year was taken down by a clock that
    /// was not set yet, as an inbox on disk may have it from before a restart of the machine.
    private func age(of message: RoutedMessage) -> Duration {
        let waited = max(message.arrivedAt.duration(to: clock.now), .zero)
        guard let wall = clock.wallNow else { return waited }
        let isArrivalKnown = wall < Self.firstPush || waited <= .milliseconds(wall - Self.firstPush)
        let known = isArrivalKnown ? waited : .zero
        guard let sentAt = message.message.sentAt, sentAt <= wall else { return known }
        return max(known, .milliseconds(wall.since(sentAt)))
    }

    /// The beginning of 2010, in milliseconds since 1970: no push of Kii is older.
    private static let firstPush: Int64 = 1_262_304_000_000
}
