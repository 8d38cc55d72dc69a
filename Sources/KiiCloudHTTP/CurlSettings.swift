#if HTTP
/// How a ``CurlTransport`` connects, and how much it takes.
///
/// The standard settings suit Kii's servers: HTTPS by the system's certificates, and bounds that no documented answer
/// reaches.
public struct CurlSettings: Sendable, Hashable {
    /// How long a connection may take, from the look-up of the host's name to the end of TLS's handshake.
    public var connectLimit: Duration = .seconds(10)

    /// How long a request may take in all, the wait for others included.
    public var requestLimit: Duration = .seconds(30)

    /// The most bytes of an answer's body; a larger answer is an error.
    public var bodyLimit = 1 << 20

    /// The most requests that are under way at once, at least 1; further ones wait.
    public var mostAtOnce = 8

    /// The most requests that wait; a further one is refused at once.
    public var mostWaiting = 1_000

    /// How long connections and the thread are kept while there is nothing to do.
    public var idleLimit: Duration = .seconds(30)

    /// A file of certificates in PEM format to trust instead of the system's.
    public var caFile: String?

    /// The server's public keys of which one must match, beside all other checks of its certificate; empty for any.
    ///
    /// Each is the SHA-256 digest of a key in DER form, as `sha256//` and Base64. Name the next key too, before the
    /// server changes it.
    public var pinnedKeys: [String] = []

    /// Whether `127.0.0.1`, `[::1]` and `localhost` are spoken to over plain HTTP, as a server in a test is.
    ///
    /// All other hosts are spoken to over HTTPS only, whatever this says.
    public var usesPlainLoopback = false

    /// The standard settings.
    public init() {}

    /// The most bytes of an answer's headers.
    static let headerLimit = 65_536
}

extension CurlSettings {
    /// Finds what is wrong with the settings.
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
        // 32 bytes are 43 characters and one that fills up.
        return text.count == 43
            && text.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || [0x2B, 0x2F].contains(byte)
            }
    }
}
#endif
