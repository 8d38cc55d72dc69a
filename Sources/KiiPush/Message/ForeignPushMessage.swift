/// A Direct Push of a format, for handlers of routes that require one.
public struct ForeignPushMessage: MessageView {
    /// The whole message.
    public let message: PushMessage
    private let content: ForeignContent

    /// Views a message as a push of a format; nil if it is not one.
    public init?(_ message: PushMessage) {
        guard let content = message.storage.foreign else { return nil }
        (self.message, self.content) = (message, content)
    }

    /// The format's name.
    public var format: String { content.format }
    /// The message's id, unique within its source.
    public var id: String? { content.push.id }
    /// Where the message comes from.
    public var source: String? { content.push.source }
    /// What happened.
    public var type: String? { content.push.type }
    /// What the message is about.
    public var subject: String? { content.push.subject }
    /// When it is no longer of use, in milliseconds since 1970.
    public var expiresAt: Int64? { content.push.expiresAt }
    /// What was sent.
    public var data: MessageData { message.data }
}
