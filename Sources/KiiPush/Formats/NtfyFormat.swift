/// Messages of ntfy, as its JSON, WebSocket and HTTP streams deliver them.
///
/// Recognised by the keys `id`, `time`, `event` and `topic` together; `topic` is ntfy's, so such a payload is never a
/// Push to User. The source is the topic, the type is the event: `message`, or one of the stream's own, such as
/// `keepalive`: ask for the type `message` to get no others. All keys are data. A message expires when ntfy's server
/// deletes it.
public struct NtfyFormat: PayloadFormat {
    /// Makes the format.
    public init() {}

    /// `ntfy`.
    public var name: String { "ntfy" }

    private static let events = [
        "message", "open", "keepalive", "poll_request", "message_delete", "message_clear",
    ]

    /// Recognises a message by its four keys, and by an event that ntfy has.
    public func recognise(_ payload: borrowing PayloadView) -> Evidence? {
        guard payload.has("event"), payload.has("time"), case .string(let event)? = payload["event"],
            Self.events.containsExactly(event), case .number? = payload["time"],
            case .string? = payload["id"], case .string? = payload["topic"]
        else { return nil }
        return Evidence(["id", "time", "event", "topic"])
    }

    /// Reads the message; times are in seconds.
    public func read(_ payload: borrowing PayloadView) throws(DecodeError) -> ForeignPush {
        let title = payload["title"]?.string
        let body = payload["message"]?.string
        let isShown = title != nil || body != nil
        return ForeignPush(
            id: payload["id"]?.string, source: payload["topic"]?.string, type: payload["event"]?.string,
            subject: payload["sequence_id"]?.string, sentAt: Self.milliseconds(payload["time"]),
            expiresAt: Self.milliseconds(payload["expires"]),
            alert: isShown ? Alert(title: title, subtitle: nil, body: body) : nil)
    }

    /// Seconds as milliseconds; nil for a number that is no time.
    private static func milliseconds(_ value: DataValue?) -> Int64? {
        guard case .number? = value, let seconds = value?.milliseconds else { return nil }
        let (product, isTooMuch) = seconds.multipliedReportingOverflow(by: 1000)
        return isTooMuch ? nil : product
    }
}
