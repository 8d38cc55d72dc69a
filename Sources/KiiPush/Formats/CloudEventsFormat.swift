/// CloudEvents 1.x as one JSON object each, the structured mode of the specification.
///
/// Recognised by the keys `specversion`, `id`, `source` and `type` together. The data are the members of `data`, or
/// one member `data` or `data_base64` with any other value; extension attributes are in ``PushMessage/rawObject``. The
/// extension `expirytime` says when an event expires.
public struct CloudEventsFormat: PayloadFormat {
    /// Makes the format.
    public init() {}

    /// `cloudevents`.
    public var name: String { "cloudevents" }

    private static let required = ["specversion", "id", "source", "type"]

    /// Recognises an event by its four required attributes.
    public func recognise(_ payload: borrowing PayloadView) -> Evidence? {
        for key in Self.required where !payload.has(key) { return nil }
        guard case .string(let version)? = payload["specversion"], version.begins(exactlyWith: "1.") else { return nil }
        return Evidence(Self.required)
    }

    /// Reads the attributes, and the data.
    ///
    /// - Throws: ``DecodeError`` with the code `badEncoding` if an attribute is of a wrong type or no time, or if a
    ///   required one is blank.
    public func read(_ payload: borrowing PayloadView) throws(DecodeError) -> ForeignPush {
        ForeignPush(
            id: try Self.required("id", payload), source: try Self.required("source", payload),
            type: try Self.required("type", payload), subject: try Self.text("subject", payload),
            sentAt: try Self.time("time", payload), expiresAt: try Self.time("expirytime", payload),
            data: .members(Self.data(payload)))
    }

    private static func data(_ payload: borrowing PayloadView) -> [(key: String, value: DataValue)] {
        for key in ["data", "data_base64"] {
            switch payload[key] {
            case nil, .null?: continue
            case .object(let members)?: return members
            case let value?: return [(key, value)]
            }
        }
        return []
    }

    private static func required(_ key: String, _ payload: borrowing PayloadView) throws(DecodeError) -> String {
        guard let text = try text(key, payload) else { throw broken(key, payload, "a text that is not blank") }
        return text
    }

    /// The text of an attribute; nil if it is not there, null or blank.
    private static func text(_ key: String, _ payload: borrowing PayloadView) throws(DecodeError) -> String? {
        switch payload[key] {
        case nil, .null?: return nil
        case .string(let text)?: return text.utf8.contains { $0 > 0x20 } ? text : nil
        default: throw broken(key, payload, "a text")
        }
    }

    private static func time(_ key: String, _ payload: borrowing PayloadView) throws(DecodeError) -> Int64? {
        guard let text = try text(key, payload) else { return nil }
        guard let time = RFC3339.milliseconds(text) else {
            throw broken(key, payload, "a time such as 2026-11-27T12:00:00Z")
        }
        return time
    }

    private static func broken(_ key: String, _ payload: borrowing PayloadView, _ due: String) -> DecodeError {
        DecodeError(.badEncoding, at: payload.token(key).map { Int($0.start) } ?? 0, "'\(key)' must be \(due)")
    }
}
