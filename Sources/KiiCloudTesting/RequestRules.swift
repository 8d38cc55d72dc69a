import KiiCloud
import KiiPush

/// The required and allowed parts of a request to Kii; finds everything undocumented.
struct RequestRules {
    let app: String
    let key: Secret

    private static let common = ["authorization", "x-kii-appid", "x-kii-appkey"]
    /// The headers that an HTTP client adds.
    private static let added = ["host", "user-agent", "accept", "content-length"]

    func violations(of request: HTTPRequest) -> [String] {
        let names = request.headers.map { $0.name.lowercased() }
        var found = Self.common.filter { !names.contains($0) }.map { "no header \($0)" }
        found += Set(names).filter { name in names.count { $0 == name } > 1 }.map { "\($0) comes twice" }
        if let value = request[header: "X-Kii-AppID"], value != app { found.append("another app in X-Kii-AppID") }
        if let value = request[header: "X-Kii-AppKey"], Secret(value) != key { found.append("a wrong X-Kii-AppKey") }
        if let value = request[header: "Authorization"], !value.hasPrefix("Bearer ") { found.append("no bearer token") }
        guard let place = CloudPlace(request.path, app: app) else { return found + ["a path that is not documented"] }
        guard let call = Call(request, place) else { return found + ["a method that is not documented for the path"] }
        let allowed = Self.common + Self.added + call.headers
        found += names.filter { !allowed.contains($0) }.map { "the header \($0) is not documented" }
        return found + call.violations(of: request)
    }
}

/// A documented call: the specific parts of its request.
private struct Call {
    /// The type of the body; nil for a call without one.
    var type: String?
    /// The `Accept` header; nil for any answer.
    var accept: String?
    /// Further optional headers.
    var conditions: [String] = []
    var override: String?

    private static let json = "application/json"

    init?(_ request: HTTPRequest, _ place: CloudPlace) {
        switch (place, request.method) {
        case (.user, .get): break
        case (.group, .get): accept = Self.kii("GroupRetrievalResponse")
        case (.thing, .get): accept = Self.kii("ThingRetrievalResponse")
        case (.objects, .post): type = Self.json
        case (.object, .get): break
        case (.object, .delete): conditions = ["if-match"]
        case (.object, .put): (type, conditions) = (Self.json, ["if-match", "if-none-match"])
        case (.object, .post): (type, conditions, override) = (Self.json, ["if-match"], "PATCH")
        case (.topic, .put): break
        case (.messages, .post):
            (type, accept) = (Self.kii("SendPushMessageRequest"), Self.kii("SendPushMessageResponse"))
        case (.subscription, .put), (.subscription, .delete): break
        case (.installations, .post): type = Self.kii("InstallationCreationRequest")
        case (.installation, .delete), (.endpoint, .get): break
        case (.results, .put): type = Self.json
        default: return nil
        }
    }

    private static func kii(_ name: String) -> String { "application/vnd.kii.\(name)+json" }

    /// The allowed headers.
    var headers: [String] {
        conditions + (type == nil ? [] : ["content-type"]) + (override == nil ? [] : ["x-http-method-override"])
    }

    func violations(of request: HTTPRequest) -> [String] {
        var found: [String] = []
        if request[header: "Content-Type"] != type { found.append("Content-Type is not \(type ?? "left out")") }
        if let accept, request[header: "Accept"] != accept { found.append("Accept is not \(accept)") }
        if request[header: "X-HTTP-Method-Override"] != override { found.append("the method is not overridden") }
        if let value = request[header: "If-None-Match"], value != "*" { found.append("If-None-Match is not *") }
        if request[header: "If-None-Match"] != nil, request[header: "If-Match"] != nil {
            found.append("two conditions at once")
        }
        if type == nil, !request.body.isEmpty { found.append("a body that is not documented") }
        if type != nil, (try? PushMessage(RawPayload(request.body))) == nil {
            found.append("the body is no JSON object")
        }
        return found
    }
}
