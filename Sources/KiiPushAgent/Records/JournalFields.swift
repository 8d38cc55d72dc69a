import KiiPush
import KiiPushDelivery
import KiiPushSystem

// A log line's fields, with which the journal can be searched: `journalctl KIIPUSH_OUTCOME=deadLettered`.

extension JournalLine {
    package struct Field: Sendable, Hashable {
        /// Its name: capitals and underscores.
        package let name: String
        /// Its value, with control characters escaped.
        package let value: String

        init(_ name: String, _ value: String) { (self.name, self.value) = (name, EscapedText(value).description) }
    }

    private static let mostRoutes = 8

    static func fields(_ trace: Trace) -> [Field] {
        var fields = [Field("KIIPUSH_MESSAGE", "\(trace.messageID)"), Field("KIIPUSH_OUTCOME", trace.outcome.name)]
        if let reason = trace.outcome.reason { fields.append(Field("KIIPUSH_REASON", Suggestion.shown(reason))) }
        if let cause = trace.cause { fields.append(Field("KIIPUSH_CAUSE", cause)) }
        if let attempt = trace.lastAttempt { fields.append(Field("KIIPUSH_ATTEMPT", "\(attempt)")) }
        fields += trace.routes.prefix(mostRoutes).map { Field("KIIPUSH_ROUTE", $0) }
        if let message = trace.message {
            fields.append(Field("KIIPUSH_KIND", message.kind.rawValue))
            if let format = message.format { fields.append(Field("KIIPUSH_FORMAT", format)) }
            fields.append(Field("KIIPUSH_BYTES", "\(message.raw.bytes.count)"))
        }
        if let transport = trace.transport {
            fields.append(Field("KIIPUSH_NETWORK", Suggestion.shown(transport.name)))
        }
        fields.append(Field("KIIPUSH_WAITED_MS", "\(trace.waitedNanoseconds / 1_000_000)"))
        if !trace.calls.isEmpty { fields.append(Field("KIIPUSH_TOOK_MS", "\(trace.handlingNanoseconds / 1_000_000)")) }
        return fields
    }

    static func fields(_ event: ServiceEvent) -> [Field] {
        switch event {
        case .retry(let id, let route, let attempt, _, let cause):
            return [
                Field("KIIPUSH_EVENT", "retry"), Field("KIIPUSH_MESSAGE", "\(id)"), Field("KIIPUSH_ROUTE", route),
                Field("KIIPUSH_ATTEMPT", "\(attempt)"), Field("KIIPUSH_CAUSE", cause),
            ]
        case .overrun(let id, let route, let isLeft):
            return [
                Field("KIIPUSH_EVENT", isLeft ? "left" : "overrun"), Field("KIIPUSH_MESSAGE", "\(id)"),
                Field("KIIPUSH_ROUTE", route),
            ]
        case .storeFailed: return [Field("KIIPUSH_EVENT", "storeFailed")]
        case .notDurable: return [Field("KIIPUSH_EVENT", "notDurable")]
        case .transport(let name, let event):
            return [Field("KIIPUSH_EVENT", event.name), Field("KIIPUSH_TRANSPORT", name)]
        }
    }
}

extension TransportEvent {
    /// Its name in records.
    var name: String {
        switch self {
        case .connected: "connected"
        case .disconnected: "disconnected"
        case .refused: "refused"
        case .possibleGap: "possibleGap"
        case .ignored: "ignored"
        }
    }
}
