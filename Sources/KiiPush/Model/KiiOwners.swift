/// A user of a Kii app: an id to fetch it by.
public struct KiiUser: Sendable {
    /// The user's id, exactly as received; it need not be a UUID.
    public let id: String
    /// Names a user by id.
    public init(id: String) { self.id = id }
    /// The URI, `kiicloud://users/…`.
    public var uri: KiiURI { KiiURI(owner: .user(id)) }
    /// A topic of the user's.
    public func topic(_ name: String) -> KiiTopic { KiiScope.user(self).topic(name) }
    /// A bucket of the user's.
    public func bucket(_ name: String) -> KiiBucket { KiiScope.user(self).bucket(name) }
}

/// A group of users of a Kii app.
public struct KiiGroup: Sendable {
    /// The group's id, exactly as received.
    public let id: String
    /// Names a group by id.
    public init(id: String) { self.id = id }
    /// The URI, `kiicloud://groups/…`.
    public var uri: KiiURI { KiiURI(owner: .group(id)) }
    /// A topic of the group's.
    public func topic(_ name: String) -> KiiTopic { KiiScope.group(self).topic(name) }
    /// A bucket of the group's.
    public func bucket(_ name: String) -> KiiBucket { KiiScope.group(self).bucket(name) }
}

/// A thing of a Kii app.
public struct KiiThing: Sendable {
    /// The thing's id, exactly as received; `th.…`, or `VENDOR_THING_ID:…` as REST users write it.
    public let id: String
    /// Names a thing by id.
    public init(id: String) { self.id = id }
    /// The URI, `kiicloud://things/…`.
    public var uri: KiiURI { KiiURI(owner: .thing(id)) }
    /// A topic of the thing's.
    public func topic(_ name: String) -> KiiTopic { KiiScope.thing(self).topic(name) }
    /// A bucket of the thing's.
    public func bucket(_ name: String) -> KiiBucket { KiiScope.thing(self).bucket(name) }
}

extension KiiUser: Hashable {
    /// Whether two users have the same id, to the byte.
    public static func == (left: KiiUser, right: KiiUser) -> Bool { left.id.isExactly(right.id) }

    /// Hashes the id's bytes.
    public func hash(into hasher: inout Hasher) { id.hashExactly(into: &hasher) }
}

extension KiiGroup: Hashable {
    /// Whether two groups have the same id, to the byte.
    public static func == (left: KiiGroup, right: KiiGroup) -> Bool { left.id.isExactly(right.id) }

    /// Hashes the id's bytes.
    public func hash(into hasher: inout Hasher) { id.hashExactly(into: &hasher) }
}

extension KiiThing: Hashable {
    /// Whether two things have the same id, to the byte.
    public static func == (left: KiiThing, right: KiiThing) -> Bool { left.id.isExactly(right.id) }

    /// Hashes the id's bytes.
    public func hash(into hasher: inout Hasher) { id.hashExactly(into: &hasher) }
}
