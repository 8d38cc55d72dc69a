/// An object in a bucket: a handle to fetch it by.
///
/// A push about a deleted object has one too; fetching it gives 404. Two are equal if their buckets and ids are, to the
/// byte.
public struct KiiObject: Sendable, Hashable {
    /// The bucket that holds it.
    public let bucket: KiiBucket
    /// The object's id, exactly as received.
    public var id: String { exact.text }
    private let exact: ExactText

    /// Names an object.
    public init(bucket: KiiBucket, id: String) {
        self.bucket = bucket
        exact = ExactText(id)
    }

    /// The object's URI.
    public var uri: KiiURI {
        KiiURI(
            owner: .init(bucket.scope),
            resource: .object(bucket: bucket.name, isEncrypted: bucket.isEncrypted, id: id))
    }
}
