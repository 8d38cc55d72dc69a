public import KiiPush

/// Who may send to a topic, as Kii's guide says it.
///
/// To an app's topic only the developer, to a group's any member, to a user's the user who owns it. Who is in a group
/// only the server knows, and of a thing's topic the guide says nothing: there nobody is refused here. The developer,
/// with an administrator's token, may send to any.
public enum SendingRights {
    /// Why `sender` may not send to `topic`; nil when they may, or when only the server knows.
    ///
    /// - Parameters:
    ///   - sender: who wants to send.
    ///   - topic: the topic.
    /// - Returns: the rule, in words.
    public static func refusal(of sender: Sender, to topic: KiiTopic) -> String? {
        if case .admin = sender { return nil }
        switch topic.scope {
        case .app: return "only the app's developer may send to a topic of the app"
        case .user(let owner):
            return sender == .user(owner) ? nil : "only the user who owns the topic may send to it"
        case .group: return sender.isThing ? "only members of the group may send to its topic" : nil
        case .thing: return nil
        }
    }
}

extension Sender {
    fileprivate var isThing: Bool {
        if case .thing = self { true } else { false }
    }
}
