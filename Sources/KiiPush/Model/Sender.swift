/// The user, thing or administrator that caused a push.
///
/// `senderURI` states the type if the payload has one. If not, the bare id decides: it is a thing's if it starts with
/// `th.`, as every thing id does, and a user's otherwise. The same holds for a Direct Push; only a `senderURI` says
/// that the sender is an administrator.
public enum Sender: Sendable {
    /// A user.
    case user(KiiUser)
    /// A thing.
    case thing(KiiThing)
    /// An administrator of the app, who sends Direct Pushes; the only name seen so far is `APP_ADMIN`.
    case admin(String)

    /// A user by id.
    public static func user(id: String) -> Sender { .user(KiiUser(id: id)) }
    /// A thing by id.
    public static func thing(id: String) -> Sender { .thing(KiiThing(id: id)) }

    /// The id alone.
    public var id: String {
        switch self {
        case .user(let user): user.id
        case .thing(let thing): thing.id
        case .admin(let name): name
        }
    }

    /// The kind as reports and rules write it: `user`, `thing` or `admin`.
    public var typeName: String {
        switch self {
        case .user: "user"
        case .thing: "thing"
        case .admin: "admin"
        }
    }
}

extension Sender: CustomStringConvertible {
    /// For people: `user U1`; the id is shown as received.
    public var description: String { "\(typeName) \(id)" }
}

extension Sender: Hashable {
    /// Whether two senders have the same type and id, to the byte.
    public static func == (left: Sender, right: Sender) -> Bool {
        left.kind == right.kind && left.id.isExactly(right.id)
    }

    /// Hashes the id's bytes.
    public func hash(into hasher: inout Hasher) { id.hashExactly(into: &hasher) }
}
