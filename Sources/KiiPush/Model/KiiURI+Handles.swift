extension KiiURI {
    /// The bucket that the URI names, or that of its object; nil if it names neither.
    package var bucket: KiiBucket? {
        switch resource {
        case .bucket(let name, let isEncrypted), .object(let name, let isEncrypted, _):
            scope.map { KiiBucket(scope: $0, name: name, type: isEncrypted ? .crypto : nil) }
        case .none, .topic: nil
        }
    }

    /// The object that the URI names; nil if it names none, or an administrator's.
    package var object: KiiObject? {
        guard case .object(_, _, let id) = resource else { return nil }
        return bucket.map { KiiObject(bucket: $0, id: id) }
    }

    /// The topic that the URI names; nil if it names none, or an administrator's.
    public var topic: KiiTopic? {
        guard case .topic(let name) = resource else { return nil }
        return scope.map { KiiTopic(scope: $0, name: name) }
    }

    /// The owner, if the URI names no resource of it.
    fileprivate var soleOwner: Owner? {
        if case .none = resource { owner } else { nil }
    }

    private var scope: KiiScope? {
        switch owner {
        case .app: .app
        case .user(let id): .user(KiiUser(id: id))
        case .group(let id): .group(KiiGroup(id: id))
        case .thing(let id): .thing(KiiThing(id: id))
        case .admin: nil
        }
    }
}

// What Kii's SDKs make from a URI, with or without an app id in front.

extension KiiUser {
    /// Reads a user's URI, `kiicloud://users/ID`; nil if the text is not one.
    public init?(uri: String) {
        guard case .user(let id)? = KiiURI(uri)?.soleOwner else { return nil }
        self.init(id: id)
    }
}

extension KiiGroup {
    /// Reads a group's URI, `kiicloud://groups/ID`; nil if the text is not one.
    public init?(uri: String) {
        guard case .group(let id)? = KiiURI(uri)?.soleOwner else { return nil }
        self.init(id: id)
    }
}

extension KiiThing {
    /// Reads a thing's URI, `kiicloud://things/ID`; nil if the text is not one.
    public init?(uri: String) {
        guard case .thing(let id)? = KiiURI(uri)?.soleOwner else { return nil }
        self.init(id: id)
    }
}

extension KiiTopic {
    /// Reads a topic's URI, such as `kiicloud://groups/ID/topics/NAME`; nil if the text is not one.
    public init?(uri: String) {
        guard let topic = KiiURI(uri)?.topic else { return nil }
        self = topic
    }
}

extension KiiBucket {
    /// Reads a bucket's URI, such as `kiicloud://users/ID/buckets/NAME`; nil if the text is not one.
    ///
    /// The type is known only of an encrypted bucket.
    public init?(uri: String) {
        guard let uri = KiiURI(uri), uri.object == nil, let bucket = uri.bucket else { return nil }
        self = bucket
    }
}

extension KiiObject {
    /// Reads an object's URI, such as `kiicloud://buckets/NAME/objects/ID`; nil if the text is not one.
    public init?(uri: String) {
        guard let object = KiiURI(uri)?.object else { return nil }
        self = object
    }
}
