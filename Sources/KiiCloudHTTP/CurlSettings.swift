#if HTTP
import KiiCloud
import KiiPush

/// Connection settings and limits of a ``CurlTransport``.
///
/// The standard settings suit Kii's servers: HTTPS with the system's certificates, and limits above all documented
/// answers.
public struct CurlSettings: Sendable, Hashable {
    /// The time limit of connecting, from the host's name look-up to the end of the TLS handshake.
    public var connectLimit: Duration = .seconds(10)

    /// The time limit of a request in all, including its time in the queue.
    public var requestLimit: Duration = .seconds(30)

    /// The size limit of an answer's body in bytes; a larger answer is an error.
    public var bodyLimit = 1 << 20

    /// The most requests in progress at once, at least 1; further ones wait.
    public var mostAtOnce = 8

    /// The most requests that wait; further ones fail at once.
    public var mostWaiting = 1_000

    /// How long idle connections and the thread are kept.
    public var idleLimit: Duration = .seconds(30)

    /// A file of certificates in PEM format to trust instead of the system's.
    public var caFile: String?

    /// Pinned public keys, one of which the server's must match, in addition to all other checks; empty for any.
    ///
    /// Each is the SHA-256 digest of a key in DER form, as `sha256//` and Base64. Add the next key before the server
    /// changes it.
    public var pinnedKeys: [String] = []

    /// Whether to use plain HTTP for `127.0.0.1`, `[::1]` and `localhost`, as for a server in a test.
    ///
    /// All other hosts always use HTTPS.
    public var usesPlainLoopback = false

    /// The standard settings.
    public init() {}

    static let headerLimit = 65_536
}

extension CurlSettings {
    func check() throws(CurlError) {
        guard connectLimit > .zero, requestLimit > .zero, idleLimit >= .zero else {
            throw .unusable("a time limit is not above zero")
        }
        guard bodyLimit >= 0, mostAtOnce > 0, mostWaiting >= 0 else { throw .unusable("a bound is too small") }
        if let caFile, caFile.isEmpty || caFile.utf8.contains(0) { throw .unusable("caFile is no file's name") }
        for key in pinnedKeys where !Self.isDigest(key) {
            throw .unusable("a pinned key is not sha256// and the Base64 of 32 bytes")
        }
    }

    private static func isDigest(_ key: String) -> Bool {
        guard key.hasPrefix("sha256//"), key.hasSuffix("=") else { return false }
        let text = key.utf8.dropFirst("sha256//".utf8.count).dropLast()
        // 32 bytes are 43 characters and one of padding.
        return text.count == 43
            && text.allSatisfy { $0.isASCIILetter || $0.isDigit || "+/".utf8.contains($0) }
    }
}

/// The URL of a request, built from parts that cannot redirect it.
struct RequestAddress: Sendable {
    let url: String
    let isPlain: Bool

    /// Makes the URL.
    ///
    /// - Throws: ``CurlError/unusable(_:)`` for a host or path that could hide another part, such as a user.
    init(_ request: HTTPRequest, _ settings: CurlSettings) throws(CurlError) {
        guard !request.host.isEmpty, request.host.utf8.allSatisfy(Self.isOfHost) else {
            throw .unusable("the host is empty, or has a character that no host's name has")
        }
        guard request.path.utf8.first == UInt8(ascii: "/"), request.path.utf8.allSatisfy(Self.isOfPath) else {
            throw .unusable("the path does not begin with a slash, or has a character that must be escaped")
        }
        // A line end in a header would start another header.
        for header in request.headers where !Self.isHeader(header) {
            throw .unusable("a header has a character that no header takes")
        }
        isPlain = settings.usesPlainLoopback && Self.isLoopback(request.host)
        url = "\(isPlain ? "http" : "https")://\(request.host)\(request.path)"
    }

    /// Whether a host, with or without a port, is certainly this machine.
    private static func isLoopback(_ host: String) -> Bool {
        ["127.0.0.1", "[::1]", "localhost"].contains { name in
            guard host.hasPrefix(name) else { return false }
            let rest = host.utf8.dropFirst(name.utf8.count)
            return rest.isEmpty || rest.first == UInt8(ascii: ":") && rest.dropFirst().allSatisfy(\.isDigit)
        }
    }

    private static func isOfHost(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isDigit || ".-_:[]".utf8.contains(byte)
    }

    private static func isOfPath(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "#") && byte != UInt8(ascii: "\\")
    }

    private static func isHeader(_ header: HTTPHeader) -> Bool {
        !header.name.isEmpty && header.name.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ":") }
            && header.value.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }
}
#endif
