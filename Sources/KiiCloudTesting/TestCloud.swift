public import KiiCloud
public import KiiPush
import Synchronization

/// A small cloud for tests: keeps objects with versions, topics, subscriptions and installations as Kii documents them,
/// pushes to subscribers, and fails on request.
///
/// ```swift
/// let cloud = TestCloud()
/// let token = cloud.logIn(.user(id: "u-1"))
/// let client = KiiClient(cloud.app, transport: cloud, tokens: FixedToken(token))
/// ```
///
/// It is itself a transport, without a network. A ``TestCloudServer`` serves it on a port.
///
/// It is strict: it refuses a request with undocumented parts with status 400, and lists them in ``violations``. It
/// does not check what only Kii knows, such as access lists. Everything is stored in memory; only ``requests`` is
/// bounded.
public final class TestCloud: HTTPTransport {
    /// The app that requests must name.
    public let app: KiiApp

    private let state: Mutex<CloudState>

    /// A request that gets no answer.
    public struct NoAnswer: Error, Sendable {}

    /// Makes an empty cloud with one app.
    public init(app: String = "0123abcd", key: Secret = Secret("key-of-the-app")) {
        self.app = KiiApp(KiiSite(host: "cloud.test"), id: app, key: key)
        state = Mutex(CloudState(app: app, key: key))
    }

    /// Answers a request in this process.
    ///
    /// - Throws: ``NoAnswer`` if a fault prevents an answer.
    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let (answer, fault) = answer(request)
        switch fault {
        case nil, .status, .slow, .largeBody, .largeHeaders: return answer
        case .close, .stall, .rubbish: throw NoAnswer()
        }
    }

    /// Performs a request, unless a fault prevents that; returns the answer, and the fault to apply to it.
    func answer(_ request: HTTPRequest, alsoWrong: [String] = []) -> (HTTPResponse, TestFault?) {
        state.withLock { $0.answer(request, alsoWrong) }
    }

    // MARK: Set-up

    /// Makes a token for an identity; the developer is `PushAddress.developer`.
    public func logIn(_ sender: Sender) -> Secret { state.withLock { $0.logIn(sender) } }

    /// Invalidates a token.
    public func expire(_ token: Secret) { state.withLock { $0.tokens[token] = nil } }

    /// Makes the next requests fail, with one fault each, in order.
    public func fail(_ faults: TestFault...) { state.withLock { $0.faults += faults } }

    package func stopFailing() { state.withLock { $0.faults = [] } }

    /// Sets the record of a user, a group or a thing.
    public func set(_ owner: KiiScope, _ fields: KeyedData) { state.withLock { $0.records[.record(owner)] = fields } }

    // MARK: Inspection

    /// The last requests, including refused ones: all up to 10,000, and at least the last 5,000 of more.
    public var requests: [HTTPRequest] { state.withLock { $0.requests } }

    /// The undocumented parts of requests; a line each.
    public var violations: [String] { state.withLock { $0.violations } }

    /// The fields of an object, without Kii's own; nil if it does not exist.
    public func fields(of object: KiiObject) -> KeyedData? { state.withLock { $0.objects[object]?.fields } }

    /// How often an object was written since it was created; 0 if it does not exist.
    public func version(of object: KiiObject) -> Int { state.withLock { $0.objects[object]?.version ?? 0 } }

    /// Whether a subscriber gets the pushes of a source.
    public func isSubscribed(_ subscriber: PushSubscriber, to source: PushSource) -> Bool {
        state.withLock { $0.subscriptions.contains(.subscription(source, subscriber)) }
    }

    /// Removes and returns the new pushes for a subscriber, in MQTT's format.
    public func takePushes(for subscriber: PushSubscriber) -> [RawPayload] {
        state.withLock { $0.pushes.removeValue(forKey: subscriber) ?? [] }
    }
}

/// A fault that a ``TestCloud`` applies to one request.
///
/// ``largeBody(_:)``, ``largeHeaders(_:)`` and ``slow`` change only what a ``TestCloudServer`` sends: a cloud that is
/// itself the transport returns its usual answer.
@nonexhaustive
public enum TestFault: Sendable, Hashable {
    /// It answers with a status without performing the request; without a code there is no body, as with Kii's 429.
    case status(Int, code: String? = nil, retryAfter: Int? = nil)
    /// It closes the connection.
    case close(Point)
    /// It sends nothing more, and keeps the connection open.
    case stall(Point)
    /// It answers with bytes that are not HTTP, without performing the request.
    case rubbish
    /// It performs the request, and answers with a body of this many bytes.
    case largeBody(Int)
    /// It performs the request, and answers with this many bytes of headers.
    case largeHeaders(Int)
    /// It performs the request, and sends its answer byte by byte, with pauses of 20 milliseconds.
    case slow

    /// The point at which an answer ends too early.
    public enum Point: Sendable, Hashable, CaseIterable {
        /// Before the request is performed.
        case work
        /// After the request is performed, before the answer.
        case answer
        /// Within the answer's headers.
        case headers
        /// Within the answer's body; before it if there is none.
        case body
    }

    var doesWork: Bool {
        switch self {
        case .status, .rubbish: false
        case .close(let point), .stall(let point): point != .work
        case .largeBody, .largeHeaders, .slow: true
        }
    }
}
