/// A header of a request or an answer; printing it shows its name only.
public struct HTTPHeader: Sendable, Hashable, CustomStringConvertible {
    /// The name; look-ups ignore its case.
    public let name: String
    private let secret: Secret

    /// Makes a header.
    public init(_ name: String, _ value: String) {
        self.name = name
        secret = Secret(value)
    }

    /// The value; it may be a token.
    public var value: String { secret.revealed }

    /// The name.
    public var description: String { name }
}

/// A request to Kii's servers, ready for any HTTP client; it always uses TLS.
///
/// Printing it shows neither header values nor the body.
public struct HTTPRequest: Sendable, Hashable {
    /// An HTTP method.
    public enum Method: String, Sendable, Hashable, CaseIterable {
        /// Reads a resource.
        case get = "GET"
        /// Creates or replaces a resource.
        case put = "PUT"
        /// Adds a resource, or performs the operation that a header names.
        case post = "POST"
        /// Deletes a resource.
        case delete = "DELETE"
    }

    /// The HTTP method.
    public let method: Method
    /// The server's name, without a scheme.
    public let host: String
    /// The path, escaped.
    public let path: String
    /// The headers, in order; the client adds the length of the body.
    public let headers: [HTTPHeader]
    /// The body; empty for none.
    public let body: [UInt8]

    /// Makes a request.
    public init(method: Method, host: String, path: String, headers: [HTTPHeader] = [], body: [UInt8] = []) {
        self.method = method
        self.host = host
        self.path = path
        self.headers = headers
        self.body = body
    }

    /// The value of the first header of that name, whatever its case.
    public subscript(header name: String) -> String? { headers.first { $0.isNamed(name) }?.value }
}

extension HTTPRequest: CustomStringConvertible, CustomReflectable {
    /// Method, host, path and the size of the body.
    public var description: String { "\(method.rawValue) https://\(host)\(path), \(body.count) bytes" }

    /// Nothing but the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// An answer of Kii's servers; printing it shows neither header values nor the body.
public struct HTTPResponse: Sendable, Hashable {
    /// The status, such as 200.
    public let status: Int
    /// The headers, in order.
    public let headers: [HTTPHeader]
    /// The body, up to the transport's limit.
    public let body: [UInt8]

    /// Makes an answer.
    public init(status: Int, headers: [HTTPHeader] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The value of the first header of that name, whatever its case.
    public subscript(header name: String) -> String? { headers.first { $0.isNamed(name) }?.value }
}

extension HTTPResponse: CustomStringConvertible, CustomReflectable {
    /// The status and the size of the body.
    public var description: String { "\(status), \(body.count) bytes" }

    /// Nothing but the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPHeader {
    fileprivate func isNamed(_ other: String) -> Bool { name.lowercased() == other.lowercased() }
}
