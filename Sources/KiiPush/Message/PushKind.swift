/// The three kinds of push in Kii.
public enum PushKind: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// Something happened in a bucket that this device subscribes to.
    case pushToApp
    /// Somebody sent a message to a topic that this device subscribes to.
    case pushToUser
    /// A message of an administrator to this device's user; also every payload that is not a Kii push.
    ///
    /// It does not prove an administrator: a Push to User whose sender suppressed Kii's keys looks the same.
    case directPush

    /// The kind in Kii's own words.
    public var description: String {
        switch self {
        case .pushToApp: "Push to App"
        case .pushToUser: "Push to User"
        case .directPush: "Direct Push"
        }
    }

    /// Its number in tables and digests, from 0.
    var tableIndex: Int {
        switch self {
        case .pushToApp: 0
        case .pushToUser: 1
        case .directPush: 2
        }
    }
}

/// The certainty of a message's kind.
public enum Certainty: String, Sendable, Hashable, CaseIterable {
    /// The payload has evidence for the kind, and none against it.
    case certain
    /// A Direct Push, because nothing indicates another kind; or a Push to User whose topic was left out, because it
    /// has the scope of a user, a group or a thing.
    case likely
    /// The payload contradicts itself or its receiver, or several formats claim it; it may be forged. It matches only
    /// routes that accept ambiguous messages.
    case ambiguous
}
