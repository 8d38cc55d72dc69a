#if HTTP
import KiiCloud

/// The URL of a request, built from parts that cannot redirect it.
struct RequestAddress: Sendable {
    let url: String
    /// Whether it uses plain HTTP, to this machine.
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
            return rest.isEmpty || rest.first == UInt8(ascii: ":") && rest.dropFirst().allSatisfy(isDigit)
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func isOfHost(_ byte: UInt8) -> Bool {
        isDigit(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
            || ".-_:[]".utf8.contains(byte)
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
