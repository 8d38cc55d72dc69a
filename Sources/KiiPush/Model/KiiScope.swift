/// The owner of a bucket or a topic: the app, a user, a group or a thing.
public enum KiiScope: Sendable, Hashable {
    /// The app itself.
    case app
    /// A user of the app.
    case user(KiiUser)
    /// A group of users.
    case group(KiiGroup)
    /// A thing.
    case thing(KiiThing)

    /// The scope's name as payloads and rules write it.
    public var typeName: String {
        switch self {
        case .app: "APP"
        case .user: "APP_AND_USER"
        case .group: "APP_AND_GROUP"
        case .thing: "APP_AND_THING"
        }
    }

    /// The id of the user, group or thing; nil for the app.
    public var id: String? {
        switch self {
        case .app: nil
        case .user(let user): user.id
        case .group(let group): group.id
        case .thing(let thing): thing.id
        }
    }

    package var kind: MessageScope.Kind {
        switch self {
        case .app: .app
        case .user: .user
        case .group: .group
        case .thing: .thing
        }
    }

    /// The scope of a kind; nil for the unknown kind, and without the id that its kind needs.
    init?(_ kind: MessageScope.Kind, id: String?) {
        switch (kind, id) {
        case (.app, _): self = .app
        case (.user, let id?): self = .user(KiiUser(id: id))
        case (.group, let id?): self = .group(KiiGroup(id: id))
        case (.thing, let id?): self = .thing(KiiThing(id: id))
        case (.unknown, _), (_, nil): return nil
        }
    }

    /// A topic in the scope.
    public func topic(_ name: String) -> KiiTopic { KiiTopic(scope: self, name: name) }

    /// A bucket in the scope; for an encrypted one, give its type to ``KiiBucket/init(scope:name:type:)``.
    public func bucket(_ name: String) -> KiiBucket { KiiBucket(scope: self, name: name) }
}

extension KiiScope: CustomStringConvertible {
    /// For people: `the app`, or `user U1`; an id is shown as received.
    public var description: String {
        switch self {
        case .app: "the app"
        case .user(let user): "user \(user.id)"
        case .group(let group): "group \(group.id)"
        case .thing(let thing): "thing \(thing.id)"
        }
    }
}

/// A message's statement of its scope, complete or not: the counterpart of `messageScope`.
///
/// A scope that is missing, unknown or without its id never changes the kind of a push that names a bucket or a topic;
/// the message only has no bucket and no topic.
public struct MessageScope: Sendable, Hashable {
    /// The kinds of scope, as in `KiiMessageScope`.
    public enum Kind: Sendable, Hashable, CaseIterable {
        /// `APP`
        case app
        /// `APP_AND_USER`
        case user
        /// `APP_AND_GROUP`
        case group
        /// `APP_AND_THING`
        case thing
        /// Not stated, or stated by an unknown name.
        case unknown
    }

    /// The kind of scope.
    public let kind: Kind

    /// The scope type exactly as stated; nil if the payload states none.
    public let typeName: String?

    /// The id of the scope's user, group or thing, if stated; always nil for the app.
    public let id: String?

    /// The app, user, group or thing that the scope names; nil if the scope is unknown or incomplete.
    public var owner: KiiScope? { KiiScope(kind, id: id) }
}
