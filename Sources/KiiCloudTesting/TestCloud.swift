public import KiiCloud
public import KiiPush
import Synchronization

/// A small cloud for tests: it keeps objects with versions, topics, subscriptions and installations as Kii's documents
/// say, pushes to those who subscribed, and fails as it is told.
///
/// ```swift
/// let cloud = TestCloud()
/// let token = cloud.logIn(.user(id: "u-1"))
/// let client = KiiClient(cloud.app, transport: cloud, tokens: FixedToken(token))
/// ```
///
/// It is a transport by itself, without a network. A ``TestCloudServer`` puts it behind a port.
///
/// It is strict: what a request has that Kii does not document is refused with status 400, and listed in
/// ``violations``. Nothing is checked that only Kii knows, such as access lists. Everything lies in memory, without a
/// bound but that of ``requests``.
public final class TestCloud: HTTPTransport {
    /// The app that requests must name.
    public let app: KiiApp

    private let state: Mutex<CloudState>

    /// A request without an answer.
    public struct NoAnswer: Error, Sendable {}

    /// Makes a cloud with one app and nothing in it.
    ///
    /// - Parameters:
    ///   - app: the app's id.
    ///   - key: the app's key.
    public init(app: String = "0123abcd", key: Secret = Secret("key-of-the-app")) {
        self.app = KiiApp(KiiSite(host: "cloud.test"), id: app, key: key)
        state = Mutex(CloudState(app: app, key: key))
    }

    /// Answers a request in this process.
    ///
    /// - Parameter request: the request.
    /// - Returns: the answer.
    /// - Throws: ``NoAnswer`` for a fault by which there is none.
    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let (answer, fault) = answer(request)
        switch fault {
        case nil, .status, .slow, .largeBody, .largeHeaders: return answer
        case .close, .stall, .rubbish: throw NoAnswer()
        }
    }

    /// Does what a request wants, unless a fault prevents that.
    ///
    /// - Returns: what would be answered, and what goes wrong with it.
    func answer(_ request: HTTPRequest, alsoWrong: [String] = []) -> (HTTPResponse, TestFault?) {
        state.withLock { $0.answer(request, alsoWrong) }
    }

    // MARK: What a test sets up

    /// Makes a token for somebody; the developer is `PushAddress.developer`.
    public func logIn(_ sender: Sender) -> Secret { state.withLock { $0.logIn(sender) } }

    /// Ends a token.
    public func expire(_ token: Secret) { state.withLock { $0.tokens[token] = nil } }

    /// Has the next requests fail, the first one first; one for each request.
    public func fail(_ faults: TestFault...) { state.withLock { $0.faults += faults } }

    /// Has no further request fail.
    public func stopFailing() { state.withLock { $0.faults = [] } }

    /// Sets the record of a user.
    public func set(_ user: KiiUser, _ fields: KeyedData) { state.withLock { $0.records[.user(user)] = fields } }

    /// Sets the record of a group.
    public func set(_ group: KiiGroup, _ fields: KeyedData) { state.withLock { $0.records[.group(group)] = fields } }

    /// Sets the record of a thing.
    public func set(_ thing: KiiThing, _ fields: KeyedData) { state.withLock { $0.records[.thing(thing)] = fields } }

    /// How often the next endpoint is not ready when it is asked for.
    public func delayEndpoint(times: Int) { state.withLock { $0.endpointDelays = times } }

    // MARK: What a test looks at

    /// The last 10,000 requests, refused ones among them.
    public var requests: [HTTPRequest] { state.withLock { $0.requests } }

    /// What requests had that Kii does not document; a line each.
    public var violations: [String] { state.withLock { $0.violations } }

    /// The fields of an object, without Kii's own; nil when there is none.
    public func fields(of object: KiiObject) -> KeyedData? { state.withLock { $0.objects[object]?.fields } }

    /// How often an object was written since it was created; 0 when there is none.
    public func version(of object: KiiObject) -> Int { state.withLock { $0.objects[object]?.version ?? 0 } }

    /// Whether somebody gets the pushes of a source.
    public func isSubscribed(_ subscriber: PushSubscriber, to source: PushSource) -> Bool {
        state.withLock { $0.subscriptions.contains(.subscription(source, subscriber)) }
    }

    /// Takes the pushes out that came for somebody since the last time, as MQTT brings them.
    public func takePushes(for subscriber: PushSubscriber) -> [RawPayload] {
        state.withLock { $0.pushes.removeValue(forKey: subscriber) ?? [] }
    }
}
