import KiiPush

/// A call to Kii's cloud as a value: the request, and how to read its answer.
///
/// A transport sends ``request(to:token:)``, and its answer goes to ``answer(_:)``. A 429 is an ordinary error: Kii
/// asks clients not to retry it automatically.
public struct CloudRequest<Answer: Sendable>: Sendable {
    /// The HTTP method.
    public let method: HTTPRequest.Method
    /// The headers of this call, in addition to those of every call.
    public let headers: [HTTPHeader]
    /// The body; empty for none.
    public let body: [UInt8]

    private let path: CloudPath
    private let read: @Sendable (HTTPResponse) throws -> Answer

    init(
        _ method: HTTPRequest.Method, _ path: CloudPath, headers: [HTTPHeader] = [], body: String = "",
        read: @escaping @Sendable (HTTPResponse) throws -> Answer
    ) {
        self.method = method
        self.path = path
        self.headers = headers
        self.body = Array(body.utf8)
        self.read = read
    }

    /// The request as HTTP; the token determines the rights.
    ///
    /// - Throws: ``CloudError`` with the code ``CloudError/Code/unsendable`` if an id is invalid in a path, a value in
    ///   a header, or a number in the body.
    public func request(to app: KiiApp, token: Secret) throws(CloudError) -> HTTPRequest {
        let common = [
            HTTPHeader("Authorization", "Bearer \(token.revealed)"), HTTPHeader("X-Kii-AppID", app.id),
            HTTPHeader("X-Kii-AppKey", app.key.revealed),
        ]
        // The token is checked alone too: after "Bearer" an empty one would go unnoticed.
        for header in [HTTPHeader("the token", token.revealed)] + common + headers
        where header.value.isEmpty || header.value.utf8.contains(where: { $0 < 0x20 || $0 >= 0x7F }) {
            let detail = "\(header.name) is empty or has a character that headers cannot contain, such as a line break"
            throw CloudError(.unsendable, status: 0, message: detail)
        }
        if !body.isEmpty, (try? JSONToken(only: body.span, .checked)) == nil {
            let detail = "the body has a number that JSON cannot write, more than 64 levels, or more than 16 MiB"
            throw CloudError(.unsendable, status: 0, message: detail)
        }
        return HTTPRequest(
            method: method, host: app.host, path: try path.text(app: app.id), headers: common + headers, body: body)
    }

    /// Throws what ``request(to:token:)`` throws for an id that is invalid in a path.
    func checkPath() throws(CloudError) { _ = try path.text(app: "app") }

    /// Reads the answer of the server.
    ///
    /// - Throws: ``CloudError`` by Kii's error code, or with ``CloudError/Code/notUnderstood``.
    public func answer(_ response: HTTPResponse) throws -> Answer { try read(response) }
}

extension CloudRequest: CustomStringConvertible, CustomReflectable {
    /// The method, the path without the app, and the size of the body.
    public var description: String { "\(method.rawValue) \(path), \(body.count) bytes" }

    /// Nothing but the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A path at Kii's servers, below the app.
struct CloudPath: Sendable, CustomStringConvertible {
    private var root = "api"
    private var segments: [String] = []

    init(_ scope: KiiScope, _ segments: String...) {
        switch scope {
        case .app: self.segments = segments
        case .user(let user): self.segments = ["users", user.id] + segments
        case .group(let group): self.segments = ["groups", group.id] + segments
        case .thing(let thing): self.segments = ["things", thing.id] + segments
        }
    }

    init(_ bucket: KiiBucket) {
        self.init(bucket.scope, "buckets", (bucket.type == .crypto ? "CRYPTO:" : "") + bucket.name)
    }

    init(_ object: KiiObject) { self = CloudPath(object.bucket).appending("objects", object.id) }

    init(_ topic: KiiTopic) { self.init(topic.scope, "topics", topic.name) }

    init(command id: String, of thing: KiiThing) {
        self.init(.app, "targets", "thing:\(thing.id)", "commands", id)
        root = "thing-if"
    }

    /// The escaped path, without the part that names the app.
    var description: String { segments.map { "/" + Self.escaped($0) }.joined() }

    func appending(_ more: String...) -> CloudPath {
        var path = self
        path.segments += more
        return path
    }

    /// The path as the request contains it.
    ///
    /// - Throws: `CloudError` for an id that would change the path: it may come from a payload.
    func text(app: String) throws(CloudError) -> String {
        let all = [root, "apps", app] + segments
        guard !all.contains(where: { ["", ".", ".."].containsExactly($0) }) else {
            throw CloudError(.unsendable, status: 0, message: "an id or a name is empty, or is '.' or '..'")
        }
        return all.map { "/" + Self.escaped($0) }.joined()
    }

    private static func escaped(_ segment: String) -> String { segment.percentEncoded(except: "-._~:") }
}
