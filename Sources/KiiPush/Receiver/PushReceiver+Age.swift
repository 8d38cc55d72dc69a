// The age limit of messages, checked for each route before its handler starts.

import Synchronization

extension PushReceiver {
    /// Whether a message is too old for a route now, or has expired; counts and traces it if so.
    ///
    /// - Parameters:
    ///   - message: the message.
    ///   - route: the route whose handler would start.
    ///   - standard: the limit for routes without delivery settings of their own.
    /// - Returns: whether the handler must not start.
    func isTooOld(_ message: RoutedMessage, for route: Route, _ standard: Duration?) -> Bool {
        if message.isReplayed { return false }
        if let expiresAt = message.message.expiresAt, let wall = clock.wallNow, expiresAt < wall {
            route.expired.add(1, ordering: .relaxed)
            message.recorder?.expired(route, "its own time has passed")
            return true
        }
        guard let limit = route.maxAge ?? (route.delivery == nil ? standard : nil) else { return false }
        let age = age(of: message)
        guard age > limit else { return false }
        route.expired.add(1, ordering: .relaxed)
        message.recorder?.expired(route, age, limit, sentAt: message.message.sentAt)
        return true
    }

    /// The age of a message: the time since it was sent or since it arrived, whichever is longer and known.
    ///
    /// A wall clock that was never set must not make messages old. If it is before the time of sending, that time is
    /// ignored. If the clock shows 2010 or later, but the arrival is before 2010, the arrival is ignored: it was
    /// recorded before the clock was set. An inbox on disk may contain such an arrival after a reboot.
    private func age(of message: RoutedMessage) -> Duration {
        let waited = max(message.arrivedAt.duration(to: clock.now), .zero)
        guard let wall = clock.wallNow else { return waited }
        let isArrivalKnown = wall < Self.firstPush || waited <= .milliseconds(wall - Self.firstPush)
        let known = isArrivalKnown ? waited : .zero
        guard let sentAt = message.message.sentAt, sentAt <= wall else { return known }
        return max(known, .milliseconds(wall.since(sentAt)))
    }

    /// The beginning of 2010, in milliseconds since 1970; every push of Kii is newer.
    private static let firstPush: Int64 = 1_262_304_000_000
}
