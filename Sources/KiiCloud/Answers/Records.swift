public import KiiPush

/// A user, group or thing as the server has it now.
public struct CloudRecord<Handle: Sendable>: Sendable {
    /// Whose record it is.
    public let handle: Handle
    /// All that the server says, in its order; keys that begin with `_` are Kii's own.
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

/// An object as the server has it now.
public struct ObjectRecord: Sendable {
    /// The object.
    public let object: KiiObject
    /// Its own fields, in the server's order, without those that begin with `_` and are Kii's.
    public let fields: KeyedData
    /// Its version, for a write that is to happen only if nobody else wrote.
    public let version: String?
    /// When it was created, in milliseconds since 1970.
    public let createdAt: Int64?
    /// When it was changed last, in milliseconds since 1970: what `OwnWrite.done(modifiedAt:)` takes.
    public let modifiedAt: Int64?
    /// The id of the user or thing that owns it.
    public let owner: String?

    /// The value of a field of its own.
    public subscript(key: String) -> DataValue? { fields[key] }

    init(_ object: KiiObject, _ response: HTTPResponse) throws(CloudError) {
        let all = try response.members()
        self.object = object
        fields = KeyedData(all.members.filter { !Self.reserved.contains($0.key) })
        version = response.version ?? all["_version"]?.string
        createdAt = all["_created"]?.integer
        modifiedAt = all["_modified"]?.integer
        owner = all["_owner"]?.string
    }

    // By name: the loop guard's stamp begins with an underscore, and is not Kii's.
    private static let reserved: Set<String> = ["_id", "_created", "_modified", "_owner", "_dataType", "_version"]
}

/// What a write did.
public struct Written: Sendable, Hashable {
    /// The object that was written; of a new one, with the id that the server gave it.
    public let object: KiiObject
    /// Whether the object is new.
    public let isNew: Bool
    /// Its version now.
    public let version: String?
    /// When the write happened by the server's clock, in milliseconds since 1970: what `OwnWrite.done(modifiedAt:)`
    /// takes.
    public let modifiedAt: Int64?

    init(_ object: KiiObject, _ response: HTTPResponse) throws(CloudError) {
        let fields = response.body.isEmpty ? [:] : try response.members()
        self.object = object
        isNew = response.status == 201
        version = response.version ?? fields["_version"]?.string
        modifiedAt = (fields["modifiedAt"] ?? fields["_modified"] ?? fields["createdAt"])?.integer
    }

    /// What a write did, by the object that it left.
    init(_ record: ObjectRecord, isNew: Bool) {
        object = record.object
        self.isNew = isNew
        version = record.version
        modifiedAt = record.modifiedAt
    }
}
