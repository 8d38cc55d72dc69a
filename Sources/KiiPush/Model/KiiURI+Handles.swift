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
