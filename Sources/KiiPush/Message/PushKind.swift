/// Which of Kii's three kinds of push a message is.
public enum PushKind: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// Something happened in a bucket that this device subscribes to.
    case pushToApp
    /// Someone sent a message to a topic that this device subscribes to.
    case pushToUser
    /// A message to this device's user, as administrators send them; also everything that is no Kii push.
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
}

/// How sure it is that a message is of the kind it was given.
public enum Certainty: String, Sendable, Hashable, CaseIterable {
    /// Something in the payload says so, and nothing speaks against it.
    case certain
    /// A Direct Push because nothing says otherwise.
    ///
    /// A Push to User that was sent with its default keys suppressed looks exactly so, and no rule can tell.
    case likely
    /// The payload contradicts itself; it may imitate another kind. No route takes it unless it says so.
    case ambiguous
}
