/// What happened in a bucket: the type of a Push to App.
///
/// An open set, compared exactly; a name that is not listed here is an event all the same. A Push to User or a Direct
/// Push may carry any text in the same field, so a known name does not prove a Push to App.
public struct KiiEvent: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name as it stands in the payload.
    public let name: String

    /// Makes an event from its name.
    public init(_ name: String) { self.name = name }

    /// Makes an event from its name.
    public init(stringLiteral name: String) { self.name = name }

    /// An object was created.
    public static let objectCreated: KiiEvent = "DATA_OBJECT_CREATED"
    /// An object's fields were changed.
    public static let objectUpdated: KiiEvent = "DATA_OBJECT_UPDATED"
    /// An object was deleted; fetching it gives 404.
    public static let objectDeleted: KiiEvent = "DATA_OBJECT_DELETED"
    /// An object's body was replaced.
    public static let objectBodyUpdated: KiiEvent = "DATA_OBJECT_BODY_UPDATED"
    /// An object's body was deleted.
    public static let objectBodyDeleted: KiiEvent = "DATA_OBJECT_BODY_DELETED"
    /// Who may do what with an object was changed.
    public static let objectACLModified: KiiEvent = "DATA_OBJECT_ACL_MODIFIED"
    /// The bucket was deleted; documented for iOS only, and without an object.
    public static let bucketDeleted: KiiEvent = "BUCKET_DELETED"

    /// Whether two events have the same name, to the byte.
    public static func == (left: KiiEvent, right: KiiEvent) -> Bool { left.name.isExactly(right.name) }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) { name.hashExactly(into: &hasher) }

    /// The event's name.
    public var description: String { name }
}
