/// An object in a bucket: a handle to fetch it by.
///
/// A push about a deleted object has one too; fetching it gives 404.
public struct KiiObject: Sendable {
    /// The bucket that holds it.
    public let bucket: KiiBucket
    /// The object's id, exactly as received.
    public let id: String

    /// Names an object.
    public init(bucket: KiiBucket, id: String) {
        self.bucket = bucket
        self.id = id
    }

    /// The object's URI.
    public var uri: KiiURI {
        KiiURI(
            owner: .init(bucket.scope),
            resource: .object(bucket: bucket.name, isEncrypted: bucket.isEncrypted, id: id))
    }
}

extension KiiObject: Hashable {
    /// Whether two objects have the same id, to the byte, in the same bucket.
    public static func == (left: KiiObject, right: KiiObject) -> Bool {
        left.id.isExactly(right.id) && left.bucket == right.bucket
    }

    /// Hashes bucket and id.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(bucket)
        id.hashExactly(into: &hasher)
    }
}
