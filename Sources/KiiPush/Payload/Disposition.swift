/// What a transport should do with a payload.
public enum Disposition: String, Sendable, Hashable {
    /// It was processed: acknowledge it.
    case accept
    /// It was not processed: deliver it again later.
    case retryLater
    /// It can never be processed: dead-letter it and acknowledge it.
    case reject
}
