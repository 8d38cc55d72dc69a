/// A user of a Kii app: an id to fetch it by, compared to the byte.
public struct KiiUser: Sendable, Hashable {
    private let exact: ExactText
    /// The user's id, exactly as received; it need not be a UUID.
    public var id: String { exact.text }
    /// Names a user by id.
    public init(id: String) { exact = ExactText(id) }
    /// Reads a user's URI, `kiicloud://users/ID`; nil if the text is not one.
    public init?(uri: String) {
        guard case .user(let id)? = KiiURI(uri)?.soleOwner else { return nil }
        self.init(id: id)
    }
    /// The URI, `kiicloud://users/…`.
    public var uri: KiiURI { KiiURI(owner: .user(id)) }
    /// A topic of the user's.
    public func topic(_ name: String) -> KiiTopic { KiiScope.user(self).topic(name) }
    /// A bucket of the user's.
    public func bucket(_ name: String) -> KiiBucket { KiiScope.user(self).bucket(name) }
}

/// A group of users of a Kii app: an id, compared to the byte.
public struct KiiGroup: Sendable, Hashable {
    private let exact: ExactText
    /// The group's id, exactly as received.
    public var id: String { exact.text }
    /// Names a group by id.
    public init(id: String) { exact = ExactText(id) }
    /// Reads a group's URI, `kiicloud://groups/ID`; nil if the text is not one.
    public init?(uri: String) {
        guard case .group(let id)? = KiiURI(uri)?.soleOwner else { return nil }
        self.init(id: id)
    }
    /// The URI, `kiicloud://groups/…`.
    public var uri: KiiURI { KiiURI(owner: .group(id)) }
    /// A topic of the group's.
    public func topic(_ name: String) -> KiiTopic { KiiScope.group(self).topic(name) }
    /// A bucket of the group's.
    public func bucket(_ name: String) -> KiiBucket { KiiScope.group(self).bucket(name) }
}

/// A thing of a Kii app: an id, compared to the byte.
public struct KiiThing: Sendable, Hashable {
    private let exact: ExactText
    /// The thing's id, exactly as received; `th.…`, or `VENDOR_THING_ID:…` as REST users write it.
    public var id: String { exact.text }
    /// Names a thing by id.
    public init(id: String) { exact = ExactText(id) }
    /// Reads a thing's URI, `kiicloud://things/ID`; nil if the text is not one.
    public init?(uri: String) {
        guard case .thing(let id)? = KiiURI(uri)?.soleOwner else { return nil }
        self.init(id: id)
    }
    /// The URI, `kiicloud://things/…`.
    public var uri: KiiURI { KiiURI(owner: .thing(id)) }
    /// A topic of the thing's.
    public func topic(_ name: String) -> KiiTopic { KiiScope.thing(self).topic(name) }
    /// A bucket of the thing's.
    public func bucket(_ name: String) -> KiiBucket { KiiScope.thing(self).bucket(name) }
}
