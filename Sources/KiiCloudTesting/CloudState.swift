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
    var devices: Set<String> = []
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
        let wrong = alsoWrong + violations(of: request)
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
        case .record:
            guard let record = records[place] else { return .refusal(404, place.missingRecord) }
            return .of(200, record)
        case .objects(let bucket): return create(in: bucket, request.fields, by: sender)
        case .object(let object): return answer(request, about: object, by: sender)
        case .topic(let topic): return create(topic)
        case .messages(let topic): return push(request.body, to: topic, by: sender)
        case .subscription(let source, _): return answer(request.method, subscription: place, of: source)
        case .installations: return install(request.fields)
        case .installation(let id):
            return devices.remove(id) == nil ? .refusal(404, "INSTALLATION_NOT_FOUND") : .of(204)
        case .endpoint(let id): return endpoint(of: id)
        case .results: return .of(204)
        }
    }
}

extension CloudPlace {
    fileprivate var missingRecord: String {
        switch self {
        case .record(.group): "GROUP_NOT_FOUND"
        case .record(.thing): "THING_NOT_FOUND"
        default: "USER_NOT_FOUND"
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
        if fields != nil { headers.append(HTTPHeader("Content-Type", "application/json;charset=UTF-8")) }
        if let version { headers.append(HTTPHeader("ETag", "\"\(version)\"")) }
        if let wait { headers.append(HTTPHeader("Retry-After", "\(wait)")) }
        let body = fields.map { DataValue.object($0.members).jsonText } ?? ""
        return HTTPResponse(status: status, headers: headers, body: Array(body.utf8))
    }

    static func refusal(_ status: Int, _ code: String, wait: Int? = nil) -> HTTPResponse {
        of(status, ["errorCode": .string(code), "message": "refused by the test cloud"], wait: wait)
    }
}

// Installed devices and their endpoints.
extension CloudState {
    private mutating func install(_ fields: KeyedData) -> HTTPResponse {
        guard fields["deviceType"] == "MQTT", fields["development"]?.bool != nil else {
            return .refusal(400, "MISSING_DATA")
        }
        let id = nextID("installation")
        devices.insert(id)
        return .of(
            201, ["installationID": .string(id), "installationRegistrationID": .string(nextID("registration"))])
    }

    private mutating func endpoint(of id: String) -> HTTPResponse {
        guard devices.contains(id) else { return .refusal(404, "INSTALLATION_NOT_FOUND") }
        return .of(
            200,
            [
                "installationID": .string(id), "username": .string("name-\(id)"),
                "password": .string("password-\(id)"), "mqttTopic": .string("topic-\(id)"),
                "host": "mqtt.cloud.test", "portTCP": 1883, "portSSL": 8883, "X-MQTT-TTL": 2_147_483_647,
            ])
    }
}
