/// A topic in a scope: what a Push to User was sent to.
public struct KiiTopic: Sendable, Hashable {
    /// Where the topic lives.
    public let scope: KiiScope
    /// The topic's name.
    public let name: String

    /// Names a topic.
    public init(scope: KiiScope, name: String) {
        self.scope = scope
        self.name = name
    }

    /// The topic's URI.
    public var uri: KiiURI { KiiURI(owner: .init(scope), resource: .topic(name)) }
}
