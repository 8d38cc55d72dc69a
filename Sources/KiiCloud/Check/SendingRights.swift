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
        switch (topic.scope, sender) {
        case (.app, .user), (.app, .thing): "only the app's developer may send to a topic of the app"
        case (.user, .thing): "only a user may send to a user's topic"
        case (.group, .thing): "only members of the group may send to its topic"
        case (.user, .user), (.group, .user), (.thing, _), (_, .admin): nil
        }
    }
}
