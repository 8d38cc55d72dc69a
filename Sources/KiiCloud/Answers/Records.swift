public import KiiPush

/// The current record of a user, group or thing.
public struct CloudRecord<Handle: Sendable>: Sendable {
    /// The user, group or thing.
    public let handle: Handle
    /// All fields, in the server's order; keys that begin with `_` are Kii's own.
    public let fields: KeyedData

    /// The value of a field.
    public subscript(key: String) -> DataValue? { fields[key] }
}

/// A user's record.
public typealias UserRecord = CloudRecord<KiiUser>
/// A group's record.
public typealias GroupRecord = CloudRecord<KiiGroup>
/// A thing's record.
public typealias ThingRecord = CloudRecord<KiiThing>

/// The current record of an object.
public struct ObjectRecord: Sendable {
    /// The object.
    public let object: KiiObject
    /// Its own fields, in the server's order, without Kii's own, which begin with `_`.
    public let fields: KeyedData
    /// Its version, for a conditional write.
    public let version: String?
    /// When it was created, in milliseconds since 1970.
    public let createdAt: Int64?
    /// When it was last changed, in milliseconds since 1970, for `OwnWrite.done(modifiedAt:)`.
    public let modifiedAt: Int64?
    /// The id of the user or thing that owns it.
    public let owner: String?

    /// The value of one of its own fields.
    public subscript(key: String) -> DataValue? { fields[key] }

    init(_ object: KiiObject, _ all: KeyedData, version: String?) {
        self.object = object
        fields = KeyedData(all.members.filter { !Self.reserved.containsExactly($0.key) })
        self.version = version ?? all["_version"]?.string
        createdAt = all["_created"]?.integer
        modifiedAt = all["_modified"]?.integer
        owner = all["_owner"]?.string
    }

    // By name: the loop guard's stamp begins with an underscore too, but is not Kii's.
    private static let reserved = ["_id", "_created", "_modified", "_owner", "_dataType", "_version"]
}

/// The result of a write.
public struct Written: Sendable, Hashable {
    /// The written object; for a new one, with the id that the server assigned.
    public let object: KiiObject
    /// Whether the object is new.
    public let isNew: Bool
    /// Its new version.
    public let version: String?
    /// The time of the write by the server's clock, in milliseconds since 1970, for `OwnWrite.done(modifiedAt:)`.
    public let modifiedAt: Int64?
}

extension Written {
    init(_ object: KiiObject, _ response: HTTPResponse) throws(CloudError) {
        let fields = try response.members(of: 200, 201)
        self.object = object
        isNew = response.status == 201
        version = response.version ?? fields["_version"]?.string
        modifiedAt = (fields["modifiedAt"] ?? fields["_modified"] ?? fields["createdAt"])?.integer
    }
}
