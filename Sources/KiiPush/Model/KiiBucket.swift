/// A bucket in a scope: the subject of a Push to App.
///
/// It is a handle, not the data: fetch with the receiver's own token, because a payload can be forged. Scope and name
/// are its identity, to the byte. The type is not part of it, because not every payload states it: an event's bucket
/// equals `KiiBucket(scope: .app, name: "b")` whether or not the event says that the type is `rw`. Only an encrypted
/// bucket differs from a plain one of the same name: it has another URI.
public struct KiiBucket: Sendable {
    /// The scope that owns the bucket.
    public let scope: KiiScope
    /// The bucket's name, without the `CRYPTO:` that an encrypted one has in URIs.
    public let name: String
    /// The bucket's type as received; nil if the payload does not state it.
    public let type: KiiBucketType?

    /// Names a bucket.
    public init(scope: KiiScope, name: String, type: KiiBucketType? = nil) {
        self.scope = scope
        self.name = name
        self.type = type
    }

    /// Reads a bucket's URI, such as `kiicloud://users/ID/buckets/NAME`; nil if the text is not one.
    ///
    /// The type is known only of an encrypted bucket.
    public init?(uri: String) {
        guard let uri = KiiURI(uri), uri.object == nil, let bucket = uri.bucket else { return nil }
        self = bucket
    }

    /// The bucket's URI; the segment of an encrypted one is `CRYPTO:name`.
    public var uri: KiiURI {
        KiiURI(owner: .init(scope), resource: .bucket(name: name, isEncrypted: isEncrypted))
    }

    /// An object in the bucket.
    public func object(_ id: String) -> KiiObject { KiiObject(bucket: self, id: id) }

    var isEncrypted: Bool { type == .crypto }
}

extension KiiBucket: Hashable {
    /// Whether two buckets have the same scope and name, to the byte, and are both encrypted or both plain.
    public static func == (left: KiiBucket, right: KiiBucket) -> Bool {
        left.name.isExactly(right.name) && left.isEncrypted == right.isEncrypted && left.scope == right.scope
    }

    /// Hashes scope, name, and whether it is encrypted.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(scope)
        name.hashExactly(into: &hasher)
        hasher.combine(isEncrypted)
    }
}

/// The type of a bucket: `rw`, `sync`, `crypto`, or another.
///
/// The set is open. Types keep their text and are compared without case, because Kii's own tests write `SYNC`.
public struct KiiBucketType: Sendable, Hashable, CustomStringConvertible {
    /// The text as received.
    package let rawName: String

    /// Makes a type from its name.
    public init(_ rawName: String) { self.rawName = rawName }

    /// An ordinary bucket.
    public static let readWrite = KiiBucketType("rw")
    /// A bucket that clients synchronise.
    public static let sync = KiiBucketType("sync")
    /// An encrypted bucket, whose URI differs.
    public static let crypto = KiiBucketType("crypto")

    /// Whether two types are equal, ignoring the case of ASCII letters.
    public static func == (left: KiiBucketType, right: KiiBucketType) -> Bool {
        left.rawName.utf8.elementsEqual(right.rawName.utf8) { $0.lowercased == $1.lowercased }
    }

    /// Hashes the type without its case.
    public func hash(into hasher: inout Hasher) {
        for byte in rawName.utf8 { hasher.combine(byte.lowercased) }
    }

    /// The text as received.
    public var description: String { rawName }
}

extension UInt8 {
    fileprivate var lowercased: UInt8 { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self }
}
