import KiiCloud
import KiiPush
import Synchronization

/// A small cloud in memory: one user's token, objects with versions, topics, subscriptions, and failures as they are
/// put in.
final class FakeCloud: HTTPTransport {
    struct State {
        var token = "token-1"
        var objects: [String: (fields: KeyedData, version: Int)] = [:]
        var places: Set<String> = []
        var endpointWaits = 0
        /// What the times of modification count from, in milliseconds since 1970.
        var clock: Int64 = 1000
        /// Answers that come before anything is looked at, the first one first.
        var failures: [HTTPResponse] = []
        var requests: [HTTPRequest] = []
    }

    let state = Mutex(State())

    struct NoAnswer: Error {}

    func send(_ request: HTTPRequest) throws -> HTTPResponse {
        state.withLock { state in
            state.requests.append(request)
            if !state.failures.isEmpty { return state.failures.removeFirst() }
            guard request[header: "Authorization"] == "Bearer \(state.token)" else {
                return Self.refusal(403, "WRONG_TOKEN")
            }
            if request.path.contains("/objects/") { return Self.object(request, &state) }
            if request.path.hasSuffix("/push/messages") { return Self.answer(201, #"{"pushMessageID":"p-1"}"#) }
            if request.path.hasSuffix("/mqtt-endpoint") { return Self.endpoint(&state) }
            return Self.place(request, &state)
        }
    }

    static func answer(_ status: Int, _ body: String = "", version: Int? = nil, wait: Int? = nil) -> HTTPResponse {
        var headers: [HTTPHeader] = []
        if let version { headers.append(HTTPHeader("ETag", "\"\(version)\"")) }
        if let wait { headers.append(HTTPHeader("Retry-After", "\(wait)")) }
        return HTTPResponse(status: status, headers: headers, body: Array(body.utf8))
    }

    static func refusal(_ status: Int, _ code: String, wait: Int? = nil) -> HTTPResponse {
        answer(status, #"{"errorCode":"\#(code)","message":""}"#, wait: wait)
    }

    private static func object(_ request: HTTPRequest, _ state: inout State) -> HTTPResponse {
        let (path, old) = (request.path, state.objects[request.path])
        if request[header: "If-None-Match"] == "*", old != nil { return refusal(409, "OBJECT_ALREADY_EXISTS") }
        if let wanted = request[header: "If-Match"], wanted != old.map({ "\($0.version)" }) {
            return refusal(409, "OBJECT_VERSION_IS_STALE")
        }
        let isPatch = request[header: "X-HTTP-Method-Override"] == "PATCH"
        guard old != nil || request.method == .put else { return refusal(404, "OBJECT_NOT_FOUND") }
        switch request.method {
        case .get, .head:
            let time = state.clock + Int64(old?.version ?? 0)
            return answer(200, body(old?.fields ?? [:], modifiedAt: time), version: old?.version)
        case .delete:
            state.objects[path] = nil
            return answer(204)
        case .put, .post:
            var fields = isPatch ? old?.fields ?? [:] : [:]
            let sent = try? PushMessage(RawPayload(request.body)).rawObject
            if case .object(let members)? = sent { for (key, value) in members { fields[key] = value } }
            let version = (old?.version ?? 0) + 1
            state.objects[path] = (fields, version)
            return answer(old == nil ? 201 : 200, #"{"modifiedAt":\#(state.clock + Int64(version))}"#, version: version)
        }
    }

    private static func body(_ fields: KeyedData, modifiedAt: Int64) -> String {
        var message = OutgoingMessage(data: fields)
        message.data["_modified"] = .integer(modifiedAt)
        // The writer of messages writes data as it is; what stands around it is cut away.
        let text = message.body.dropFirst(#"{"data":"#.count)
        return String(text[...(text.firstIndex(of: "}") ?? text.startIndex)])
    }

    private static func endpoint(_ state: inout State) -> HTTPResponse {
        guard state.endpointWaits == 0 else {
            state.endpointWaits -= 1
            return refusal(503, "MQTT_ENDPOINT_NOT_READY", wait: state.endpointWaits.isMultiple(of: 2) ? 2 : nil)
        }
        return answer(200, #"{"host":"h","mqttTopic":"t","username":"u","password":"p","portSSL":8883}"#)
    }

    /// Topics and subscriptions: they are there or not.
    private static func place(_ request: HTTPRequest, _ state: inout State) -> HTTPResponse {
        let isTopic = !request.path.contains("/subscriptions/")
        let kind = isTopic ? "TOPIC" : "PUSH_SUBSCRIPTION"
        let isThere = state.places.contains(request.path)
        if request.method == .put {
            guard !isThere else { return refusal(409, "\(kind)_ALREADY_EXISTS") }
            state.places.insert(request.path)
            return answer(204)
        }
        guard isThere else { return refusal(404, "\(kind)_NOT_FOUND") }
        if request.method == .delete { state.places.remove(request.path) }
        return answer(204)
    }
}

/// A clock whose pauses are over at once, and noted.
final class NotedClock: Clock {
    struct Instant: InstantProtocol {
        var offset: Duration
        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private let state = Mutex<(now: Duration, pauses: [Duration])>((.zero, []))
    var now: Instant { Instant(offset: state.withLock { $0.now }) }
    var pauses: [Duration] { state.withLock { $0.pauses } }
    let minimumResolution = Duration.nanoseconds(1)

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try Task.checkCancellation()
        state.withLock { state in
            state.pauses.append(deadline.offset - state.now)
            state.now = max(state.now, deadline.offset)
        }
    }
}

/// Tokens with rising numbers.
final class CountedTokens: TokenSource {
    private let number: Mutex<Int>
    let last: Int
    init(from first: Int, to last: Int) {
        number = Mutex(first)
        self.last = last
    }

    func token(replacing ended: Secret?) -> Secret {
        number.withLock { number in
            if ended == Secret("token-\(number)"), number < last { number += 1 }
            return Secret("token-\(number)")
        }
    }
}
