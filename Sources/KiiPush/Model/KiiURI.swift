/// A `kiicloud://` URI: an owner, and one of the owner's resources.
///
/// The app id in front is optional: an odd number of segments begins with one, an even number does not. The text is
/// split by hand, because a generic URL parser takes the first segment for a host and may change its case. Nothing is
/// decoded or normalised: ``description`` is the text that was parsed.
public struct KiiURI: Sendable, Hashable {
    /// The owner of a resource.
    public enum Owner: Sendable {
        /// The app.
        case app
        /// A user, by id.
        case user(String)
        /// A group, by id.
        case group(String)
        /// A thing, by id.
        case thing(String)
        /// An administrator, by name.
        case admin(String)

        /// The owner of the resources in a scope.
        package init(_ scope: KiiScope) {
            self =
                switch scope {
                case .app: .app
                case .user(let user): .user(user.id)
                case .group(let group): .group(group.id)
                case .thing(let thing): .thing(thing.id)
                }
        }
    }

    /// The part of the owner's data that is named.
    public enum Resource: Sendable {
        /// The owner itself.
        case none
        /// A bucket; an encrypted one has the segment `CRYPTO:name`.
        case bucket(name: String, isEncrypted: Bool)
        /// An object in a bucket.
        case object(bucket: String, isEncrypted: Bool, id: String)
        /// A topic.
        case topic(String)
    }

    /// The app id in front, which newer clients write.
    public let appID: String?
    /// The owner.
    public let owner: Owner
    /// The owner's resource, if not the owner itself.
    public let resource: Resource

    /// Makes a URI from its parts.
    public init(appID: String? = nil, owner: Owner, resource: Resource = .none) {
        self.appID = appID
        self.owner = owner
        self.resource = resource
    }

    /// Reads a URI; nil if the text is not one, or has more than seven segments.
    public init?(_ text: String) {
        let bytes = text.utf8.span
        guard let parts = KiiURIParts(bytes, 0..<bytes.count) else { return nil }
        let id = bytes.string(parts.ownerID)
        guard let scope = KiiScope(parts.scopeKind, id: id) else { return nil }
        appID = parts.app.map { bytes.string($0) }
        owner = parts.isAdmin ? .admin(id) : Owner(scope)
        let name = bytes.string(parts.name)
        resource =
            switch (parts.resource, parts.object) {
            case (.none, _): .none
            case (.topic, _): .topic(name)
            case (.bucket, nil): .bucket(name: name, isEncrypted: parts.isEncrypted)
            case (.bucket, let id?): .object(bucket: name, isEncrypted: parts.isEncrypted, id: bytes.string(id))
            }
    }
}

extension KiiURI {
    /// Whether two URIs are the same, to the byte.
    public static func == (left: KiiURI, right: KiiURI) -> Bool { left.description.isExactly(right.description) }

    /// Hashes the URI's bytes.
    public func hash(into hasher: inout Hasher) { description.hashExactly(into: &hasher) }
}

extension KiiURI: CustomStringConvertible {
    /// The URI as text.
    public var description: String {
        var text = "kiicloud:/"
        if let appID { text += "/\(appID)" }
        switch owner {
        case .app: break
        case .user(let id): text += "/users/\(id)"
        case .group(let id): text += "/groups/\(id)"
        case .thing(let id): text += "/things/\(id)"
        case .admin(let name): text += "/admins/\(name)"
        }
        switch resource {
        case .none: break
        case .topic(let name): text += "/topics/\(name)"
        case .bucket(let name, let isEncrypted): text += "/buckets/\(isEncrypted ? "CRYPTO:" : "")\(name)"
        case .object(let bucket, let isEncrypted, let id):
            text += "/buckets/\(isEncrypted ? "CRYPTO:" : "")\(bucket)/objects/\(id)"
        }
        return text
    }
}

extension KiiURI {
    /// The bucket that the URI names, or that of its object; nil if it names neither.
    package var bucket: KiiBucket? {
        switch resource {
        case .bucket(let name, let isEncrypted), .object(let name, let isEncrypted, _):
            scope.map { KiiBucket(scope: $0, name: name, type: isEncrypted ? .crypto : nil) }
        case .none, .topic: nil
        }
    }

    package var object: KiiObject? {
        guard case .object(_, _, let id) = resource else { return nil }
        return bucket.map { KiiObject(bucket: $0, id: id) }
    }

    /// The topic that the URI names; nil if it names none, or an administrator's.
    package var topic: KiiTopic? {
        guard case .topic(let name) = resource else { return nil }
        return scope.map { KiiTopic(scope: $0, name: name) }
    }

    var soleOwner: Owner? {
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

extension KiiURI.Owner: Equatable {
    /// Whether two owners are the same, to the byte.
    public static func == (left: Self, right: Self) -> Bool { KiiURI(owner: left) == KiiURI(owner: right) }
}

extension KiiURI.Resource: Equatable {
    /// Whether two resources are the same, to the byte.
    public static func == (left: Self, right: Self) -> Bool {
        KiiURI(owner: .app, resource: left) == KiiURI(owner: .app, resource: right)
    }
}
