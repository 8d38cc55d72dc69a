public import KiiPush

/// Who may send to a topic, according to Kii's guide.
///
/// Only the developer may send to an app's topic, any member to a group's, and only users to a user's. Only the
/// server knows the members of a group, the guide does not cover a thing's topic, and on whether another user than the
/// owner may send to a user's topic its texts and samples differ: for these, nobody is refused here. The developer,
/// with an administrator's token, may send to any topic.
public enum SendingRights {
    /// Why `sender` may not send to `topic`, in words; nil if they may, or if only the server knows.
    public static func refusal(of sender: Sender, to topic: KiiTopic) -> String? {
        if case .admin = sender { return nil }
        switch topic.scope {
        case .app: return "only the app's developer may send to a topic of the app"
        case .user: return sender.isThing ? "only a user may send to a user's topic" : nil
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
