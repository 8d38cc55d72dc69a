/// A topic in a scope, compared to the byte: the destination of a Push to User.
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

    /// Reads a topic's URI, such as `kiicloud://groups/ID/topics/NAME`; nil if the text is not one.
    public init?(uri: String) {
        guard let topic = KiiURI(uri)?.topic else { return nil }
        self = topic
    }

    /// The topic's URI.
    public var uri: KiiURI { KiiURI(owner: .init(scope), resource: .topic(name)) }
}
