/// A topic in a scope: the destination of a Push to User.
public struct KiiTopic: Sendable {
    /// The scope that owns the topic.
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

extension KiiTopic: Hashable {
    /// Whether two topics have the same scope and name, to the byte.
    public static func == (left: KiiTopic, right: KiiTopic) -> Bool {
        left.name.isExactly(right.name) && left.scope == right.scope
    }

    /// Hashes scope and name.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(scope)
        name.hashExactly(into: &hasher)
    }
}
