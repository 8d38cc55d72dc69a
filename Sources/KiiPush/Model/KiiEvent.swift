/// What happened in a bucket: the type of a Push to App.
///
/// The set is open, and names are compared exactly; a name that is not listed here is an event too.
/// ``objectBodyUpdated`` has two names, because Kii's reference spells it in two ways. A Push to User or a Direct Push
/// may carry any text in the same field, so a known name does not prove a Push to App.
public struct KiiEvent: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name as in the payload.
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
    /// An object's body was replaced; equal to `DATA_OBJECT_BODY_UPDATE`, as one cell of Kii's reference spells it.
    public static let objectBodyUpdated: KiiEvent = "DATA_OBJECT_BODY_UPDATED"
    /// An object's body was deleted.
    public static let objectBodyDeleted: KiiEvent = "DATA_OBJECT_BODY_DELETED"
    /// An object's access rights were changed.
    public static let objectACLModified: KiiEvent = "DATA_OBJECT_ACL_MODIFIED"
    /// The bucket was deleted; documented for iOS only, and without an object.
    public static let bucketDeleted: KiiEvent = "BUCKET_DELETED"

    /// Whether two events have the same name, to the byte, or are the two names of one event.
    public static func == (left: KiiEvent, right: KiiEvent) -> Bool {
        left.documentedName.isExactly(right.documentedName)
    }

    /// Hashes the name.
    public func hash(into hasher: inout Hasher) { documentedName.hashExactly(into: &hasher) }

    /// The name as in the payload.
    public var description: String { name }
}

extension KiiEvent {
    /// The other name of ``objectBodyUpdated``: the same without its last letter.
    private static let otherName = "DATA_OBJECT_BODY_UPDATE"
    private static let bodyUpdated = "DATA_OBJECT_BODY_UPDATED"
    var documentedName: String { name.isExactly(Self.otherName) ? Self.bodyUpdated : name }
    static func isOtherName(_ text: Span<UInt8>, _ range: Range<Int>) -> Bool { text.matches(range, otherName) }

    /// The part that the two names of one event have in common, or the whole of any other name; for digests.
    static func commonPart(_ text: Span<UInt8>, _ range: Range<Int>) -> Range<Int> {
        // Nearly all names have another length.
        guard range.count == 24, text.matches(range, bodyUpdated) else { return range }
        return range.lowerBound..<(range.upperBound - 1)
    }
}
