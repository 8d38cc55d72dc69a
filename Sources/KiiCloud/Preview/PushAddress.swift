public import KiiPush

/// What Kii's server knows of a push when it sends it on: to which topic, by whom, for which app, and when.
public struct PushAddress: Sendable, Hashable {
    /// The app's id.
    public var app: String
    /// The topic that it is sent to.
    public var topic: KiiTopic
    /// Who sends it; the app's developer is an administrator.
    public var sender: Sender
    /// When it is sent, in milliseconds since 1970.
    public var sentAt: Int64

    /// Addresses a push.
    public init(app: String, topic: KiiTopic, sender: Sender, sentAt: Int64) {
        self.app = app
        self.topic = topic
        self.sender = sender
        self.sentAt = sentAt
    }

    /// The app's developer, who sends with an administrator's token.
    public static let developer = Sender.admin("APP_ADMIN")
}

extension KiiURI {
    /// The topic that the URI names; nil when it names none, or an administrator's.
    public var topic: KiiTopic? {
        guard case .topic(let name) = resource else { return nil }
        let scope: KiiScope? =
            switch owner {
            case .app: .app
            case .user(let id): .user(KiiUser(id: id))
            case .group(let id): .group(KiiGroup(id: id))
            case .thing(let id): .thing(KiiThing(id: id))
            case .admin: nil
            }
        return scope.map { KiiTopic(scope: $0, name: name) }
    }
}
