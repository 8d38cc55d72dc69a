/// What a transport should do with a payload.
public enum Disposition: String, Sendable, Hashable, CaseIterable {
    /// It is dealt with: acknowledge it.
    case accept
    /// It is not: deliver it again later.
    case retryLater
    /// It never will be: put it aside and acknowledge it.
    case reject
}
