/// A topic in a scope: the destination of a Push to User.
///
/// Two are equal if their scopes and names are, to the byte.
public struct KiiTopic: Sendable, Hashable {
    /// The scope that owns the topic.
    public let scope: KiiScope
    /// The topic's name.
    public var name: String { exact.text }
    private let exact: ExactText

    /// Names a topic.
    public init(scope: KiiScope, name: String) {
        self.scope = scope
        exact = ExactText(name)
    }

    /// The topic's URI.
    public var uri: KiiURI { KiiURI(owner: .init(scope), resource: .topic(name)) }
}
