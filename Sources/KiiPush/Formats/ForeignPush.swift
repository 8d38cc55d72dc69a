/// What a ``PayloadFormat`` reads from a payload: a push of another system than Kii.
///
/// Texts are bounded by the receiver's ``PayloadLimits/bytes`` each; a longer one refuses the payload. Blank texts
/// count as absent.
public struct ForeignPush: Sendable {
    /// The message's id, unique within its source: two payloads of a format with the same source and id are the same
    /// message; nil if the format has none, so that the transport's own id identifies the message, else a digest of the
    /// contents, for five seconds.
    public var id: String?
    /// Where the message comes from.
    public var source: String?
    /// What happened, as a name that routes and rules match.
    public var type: String?
    /// What the message is about: messages of one source and subject are handled one after another.
    public var subject: String?
    /// When the message was sent, in milliseconds since 1970; nil counts from the arrival.
    public var sentAt: Int64?
    /// When the message is no longer of use, in milliseconds since 1970: its handlers are not called afterwards.
    public var expiresAt: Int64?
    /// The text that the push shows to a person.
    public var alert: Alert?
    /// The sender's data.
    public var data: Contents
    /// The keys that are the format's own, and not data; the first 64 count.
    public var ownKeys: [String] = []
    /// What corresponds to the keys of Apple's dictionary, as ``PushMessage/aps`` returns it; the first 64 count.
    public var apple: [(key: String, value: DataValue)] = []

    /// Where the data is.
    @nonexhaustive
    public enum Contents: Sendable {
        /// The root members of the payload itself; of a payload that is no JSON object, none.
        case payload
        /// The members of another JSON object, as text, by the same rules as a payload.
        case json(String)

        /// Members that the format has made; each key once.
        public static func members(_ members: [(key: String, value: DataValue)]) -> Contents {
            .json(DataValue.object(members).jsonText)
        }
    }

    /// Makes a push.
    public init(
        id: String? = nil, source: String? = nil, type: String? = nil, subject: String? = nil, sentAt: Int64? = nil,
        expiresAt: Int64? = nil, alert: Alert? = nil, data: Contents = .payload
    ) {
        (self.id, self.source, self.type, self.subject) = (id, source, type, subject)
        (self.sentAt, self.expiresAt, self.alert, self.data) = (sentAt, expiresAt, alert, data)
    }
}

extension ForeignPush {
    /// The same within the limits; a blank text is absent.
    consuming func bounded(_ limits: PayloadLimits) throws(DecodeError) -> ForeignPush {
        func bounded(_ text: String?, _ what: String) throws(DecodeError) -> String? {
            guard let text, text.utf8.contains(where: { $0 > 0x20 }) else { return nil }
            guard text.utf8.count <= limits.bytes else {
                throw DecodeError(.limitExceeded, at: 0, "its \(what) is longer than \(limits.bytes) bytes")
            }
            return text
        }
        id = try bounded(id, "id")
        source = try bounded(source, "source")
        type = try bounded(type, "type")
        subject = try bounded(subject, "subject")
        for text in [alert?.title, alert?.subtitle, alert?.body] { _ = try bounded(text, "alert") }
        if ownKeys.count > Self.mostKeys { ownKeys.removeLast(ownKeys.count - Self.mostKeys) }
        if apple.count > Self.mostKeys { apple.removeLast(apple.count - Self.mostKeys) }
        return self
    }

    private static let mostKeys = 64
}

package final class ForeignContent: Sendable {
    package let format: String
    let evidence: [String]
    let rivals: [String]
    /// The push; its data are in the message's buffer.
    package let push: ForeignPush
    let payloadCount: Int
    /// Where the data are in the buffer; nil if they are the payload's root members.
    let dataRange: Range<Int>?

    init(_ claim: FormatClaim, _ payloadCount: Int, dataRange: Range<Int>?) {
        (format, evidence, rivals) = (claim.format, claim.evidence, claim.rivals)
        var push = claim.push
        push.data = .payload
        self.push = push
        (self.payloadCount, self.dataRange) = (payloadCount, dataRange)
    }
}
