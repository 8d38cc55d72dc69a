// The age limit of messages, checked for each route before its handler starts.

import Synchronization

extension PushReceiver {
    /// Whether a message is too old for a route now, or has expired; counts and traces it if so.
    ///
    /// The standard is for routes without delivery settings of their own.
    func isTooOld(_ message: RoutedMessage, for route: Route, _ standard: Duration?) -> Bool {
        guard let reason = expiry(of: message, for: route, standard) else { return false }
        route.expired.add(1, ordering: .relaxed)
        message.recorder?.expired(route, reason)
        return true
    }

    /// Why a handler must not get a message any more; nil if it must.
    private func expiry(of message: RoutedMessage, for route: Route, _ standard: Duration?) -> String? {
        func text(_ age: Duration, _ name: String, _ limit: Duration) -> String {
            guard message.recorder != nil else { return "" }
            // Whole seconds, unless it is less than one.
            let seconds = age.components.seconds
            let shown = seconds > 0 ? Duration.seconds(seconds) : age
            let unit = message.message.sentAt?.doubtOfUnit.map { "; \($0)" } ?? ""
            return "\(shown.ruleText) old, \(name) \(limit.ruleText)\(unit)"
        }
        if message.bypass == .all { return nil }
        if let validity = message.message.storage.mqtt?.expirySeconds {
            let (waited, limit) = (waited(message, clock.wallNow), Duration.seconds(Int64(validity)))
            if waited >= limit { return text(waited, "MQTT expiry", limit) }
        }
        if let expiresAt = message.message.expiresAt, let wall = clock.wallNow, expiresAt < wall {
            return "its own time has passed"
        }
        guard let limit = route.maxAge ?? (route.options.delivery == nil ? standard : nil) else { return nil }
        let age = age(of: message)
        return age > limit ? text(age, "maxAge", limit) : nil
    }

    /// The age of a message: the time since it was sent or since it arrived, whichever is longer and known.
    ///
    /// A wall clock that was never set must not make messages old. If it is before the time of sending, that time is
    /// ignored. If the clock shows 2010 or later, but the arrival is before 2010, the arrival is ignored: it was
    /// recorded before the clock was set. An inbox on disk may contain such an arrival after a reboot.
    private func age(of message: RoutedMessage) -> Duration {
        let wall = clock.wallNow
        let waited = waited(message, wall)
        guard let wall, let sentAt = message.message.sentAt, sentAt <= wall else { return waited }
        return max(waited, .milliseconds(wall.since(sentAt)))
    }

    /// The time since a message arrived; zero if its arrival is not known.
    private func waited(_ message: RoutedMessage, _ wall: Int64?) -> Duration {
        let waited = message.arrivedAt.duration(to: clock.now)
        guard let wall else { return waited }
        let isArrivalKnown = wall < Self.firstPush || waited <= .milliseconds(wall - Self.firstPush)
        return isArrivalKnown ? waited : .zero
    }

    /// The beginning of 2010, in milliseconds since 1970; every push of Kii is newer.
    private static let firstPush: Int64 = 1_262_304_000_000
}
