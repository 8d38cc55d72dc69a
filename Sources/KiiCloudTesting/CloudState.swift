import KiiCloud
import KiiPush

struct CloudState {
    /// An object, with the times of its first and last write.
    struct Kept {
        var fields: KeyedData
        var version = 1
        let owner: String
        let createdAt: Int64
        var modifiedAt: Int64
    }

    let app: String
    let key: Secret
    var tokens: [Secret: Sender] = [:]
    var records: [CloudPlace: KeyedData] = [:]
    var objects: [KiiObject: Kept] = [:]
    var topics: Set<KiiTopic> = []
    var subscriptions: Set<CloudPlace> = []
    /// The ids of the installed devices.
    var devices: Set<String> = []
    var endpointDelays = 0
    var pushes: [PushSubscriber: [RawPayload]] = [:]
    var faults: [TestFault] = []
    var requests: [HTTPRequest] = []
    var violations: [String] = []
    /// The last number used for tokens and ids.
    private var number = 0
    /// The cloud's clock: it advances by a millisecond at each reading.
    private var clock: Int64 = 1_700_000_000_000

    private static let mostRequests = 10_000

    init(app: String, key: Secret) {
        self.app = app
        self.key = key
    }

    mutating func now() -> Int64 {
        clock += 1
        return clock
    }

    mutating func nextID(_ kind: String) -> String {
        number += 1
        return "\(kind)-\(number)"
    }

    mutating func logIn(_ sender: Sender) -> Secret {
        let token = Secret(nextID("token"))
        tokens[token] = sender
        return token
    }

    // MARK: Answers

    mutating func answer(_ request: HTTPRequest, _ alsoWrong: [String]) -> (HTTPResponse, TestFault?) {
        if requests.count == Self.mostRequests { requests.removeFirst(Self.mostRequests / 2) }
        requests.append(request)
        let rules = RequestRules(app: app, key: key)
        let wrong = alsoWrong + rules.violations(of: request)
        violations += wrong.map { "\(request.method.rawValue) \(request.path): \($0)" }
        let fault = faults.isEmpty ? nil : faults.removeFirst()
        if case .status(let status, let code, let wait) = fault {
            return (code.map { .refusal(status, $0, wait: wait) } ?? .of(status, wait: wait), fault)
        }
        if let fault, !fault.doesWork { return (.of(500), fault) }
        guard wrong.isEmpty, let place = CloudPlace(request.path, app: app) else {
            return (.refusal(400, "INVALID_INPUT_DATA"), fault)
        }
        guard let sender = sender(of: request) else { return (.refusal(403, "WRONG_TOKEN"), fault) }
        return (answer(request, at: place, by: sender), fault)
    }

    private func sender(of request: HTTPRequest) -> Sender? {
        guard let header = request[header: "Authorization"], header.hasPrefix("Bearer ") else { return nil }
        return tokens[Secret(String(header.dropFirst("Bearer ".count)))]
    }

    private mutating func answer(_ request: HTTPRequest, at place: CloudPlace, by sender: Sender) -> HTTPResponse {
        switch place {
        case .user, .group, .thing:
            guard let record = records[place] else { return .refusal(404, place.missingCode) }
            return .of(200, record)
        case .objects(let bucket): return create(in: bucket, request.fields, by: sender)
        case .object(let object): return answer(request, about: object, by: sender)
        case .topic(let topic): return create(topic)
        case .messages(let topic): return push(request.body, to: topic, by: sender)
        case .subscription(let source, _): return answer(request.method, subscription: place, of: source)
        case .installations: return install(request.fields)
        case .installation(let id):
            return devices.remove(id) == nil ? .refusal(404, place.missingCode) : .of(204)
        case .endpoint(let id): return endpoint(of: id)
        case .results: return .of(204)
        }
    }
}

extension CloudPlace {
    var missingCode: String {
        switch self {
        case .user: "USER_NOT_FOUND"
        case .group: "GROUP_NOT_FOUND"
        case .thing: "THING_NOT_FOUND"
        case .objects: "BUCKET_NOT_FOUND"
        case .object: "OBJECT_NOT_FOUND"
        case .topic, .messages: "TOPIC_NOT_FOUND"
        case .subscription: "PUSH_SUBSCRIPTION_NOT_FOUND"
        case .installations, .installation, .endpoint: "INSTALLATION_NOT_FOUND"
        case .results: "COMMAND_NOT_FOUND"
        }
    }
}

extension HTTPRequest {
    /// The body's members; empty if the body is not an object.
    var fields: KeyedData {
        guard case .object(let members)? = DataValue(json: String(decoding: body, as: UTF8.self)) else { return [:] }
        return KeyedData(members)
    }
}

extension HTTPResponse {
    static func of(_ status: Int, _ fields: KeyedData? = nil, version: Int? = nil, wait: Int? = nil) -> HTTPResponse {
        var headers: [HTTPHeader] = []
        var writer = JSONWriter()
        if let fields {
            headers.append(HTTPHeader("Content-Type", "application/json;charset=UTF-8"))
            writer.value(.object(fields.members))
        }
        if let version { headers.append(HTTPHeader("ETag", "\"\(version)\"")) }
        if let wait { headers.append(HTTPHeader("Retry-After", "\(wait)")) }
        return HTTPResponse(status: status, headers: headers, body: Array(writer.text.utf8))
    }

    static func refusal(_ status: Int, _ code: String, wait: Int? = nil) -> HTTPResponse {
        of(status, ["errorCode": .string(code), "message": "refused by the test cloud"], wait: wait)
    }
}
