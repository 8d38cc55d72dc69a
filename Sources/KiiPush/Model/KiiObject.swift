/// An object in a bucket: a handle to fetch it by, compared to the byte.
///
/// A push about a deleted object has one too; fetching it gives 404.
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

    /// Reads an object's URI, such as `kiicloud://buckets/NAME/objects/ID`; nil if the text is not one.
    public init?(uri: String) {
        guard let object = KiiURI(uri)?.object else { return nil }
        self = object
    }

    /// The object's URI.
    public var uri: KiiURI {
        KiiURI(
            owner: .init(bucket.scope),
            resource: .object(bucket: bucket.name, isEncrypted: bucket.isEncrypted, id: id))
    }
}
