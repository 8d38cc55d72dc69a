/// Messages may have been lost for good, so what the device knows may be out of date: fetch it again.
///
/// A gap passes the chain and is handled like a message: it is in the inbox, is tried again if its handler fails, and
/// survives a restart. New messages of its transport wait until it was handled, or its last attempt has failed. It
/// reaches only routes for gaps; without one, it is only reported.
public struct Gap: Sendable, Hashable {
    /// Why messages may be missing.
    @nonexhaustive
    public enum Cause: String, Sendable, Hashable, CaseIterable {
        /// The server has no session of this device any more, and what it would have sent is lost.
        case sessionLost
        /// The server does not say whether it kept the session, as with MQTT 3.1: a gap at each new connection.
        case sessionUnknown
        /// Payloads had arrived, were not accepted, and do not come again; of those larger than the limit it tells at
        /// most once a minute.
        case notAccepted
        /// The state was damaged and put aside, or repaired as far as it could be read.
        case stateHealed
        /// The agent starts for the first time on this state, and knows nothing yet.
        case firstStart
        /// The dead letters, or those of one route and place, are at their bound, so that a payload was lost; told at
        /// most once a minute.
        case deadLetterReplaced
    }

    /// Why messages may be missing.
    public let cause: Cause
    /// The transport whose messages are missing; nil for any.
    public let transport: String?
    /// What happened, in words; at most 1,024 characters of Unicode.
    public let reason: String

    /// Describes a gap; the rest of a longer reason is left out.
    public init(_ cause: Cause, transport: String? = nil, reason: String = "") {
        self.cause = cause
        self.transport = transport
        self.reason = String(reason.unicodeScalars.prefix(1024))
    }

    /// The gap of a message that was made by ``payload(number:)``; nil for any other.
    public init?(_ message: PushMessage) {
        guard message.storage.isGap, let cause = message.data["gap"].flatMap(\.string).flatMap({ Cause(rawValue: $0) })
        else { return nil }
        self.init(
            cause, transport: message.data["transport"]?.string, reason: message.data["reason"]?.string ?? "")
    }

    /// The gap as a payload, `{"gap":"sessionLost","transport":"mqtt","reason":"…","number":1}`.
    ///
    /// - Parameter number: makes two gaps with the same text two messages, such as the time.
    /// - Returns: a payload of ``Transport/gap``.
    public func payload(number: Int64) -> RawPayload {
        let text = JSONWriter.object { writer in
            writer.member("gap", cause.rawValue)
            if let transport { writer.member("transport", transport) }
            writer.member("reason", reason)
            writer.member("number", number)
        }
        return RawPayload(Array(text.utf8), transport: .gap)
    }
}

extension Gap: CustomStringConvertible {
    /// The cause, the transport and the reason.
    public var description: String { "\(cause.rawValue) of \(transport ?? "any transport"): \(reason)" }
}
