public import KiiPush

/// The context in which Kii's server sends a push: the topic, the sender, the app, and the time.
public struct PushAddress: Sendable, Hashable {
    /// The app's id.
    public var app: String
    /// The topic that it is sent to.
    public var topic: KiiTopic
    /// The sender; the app's developer is an administrator.
    public var sender: Sender
    /// When it is sent, in milliseconds since 1970.
    public var sentAt: Int64

    /// Sets the context of a push.
    public init(app: String, topic: KiiTopic, sender: Sender, sentAt: Int64) {
        self.app = app
        self.topic = topic
        self.sender = sender
        self.sentAt = sentAt
    }

    /// The app's developer, who sends with an administrator's token.
    public static let developer = Sender.admin("APP_ADMIN")

    /// A sender who may send to a topic, with an id of the usual length: that of a UUID.
    static func assumedSender(to topic: KiiTopic) -> Sender {
        switch topic.scope {
        case .app: developer
        case .user(let owner): .user(owner)
        case .group, .thing: .user(id: String(repeating: "0", count: 36))
        }
    }
}
