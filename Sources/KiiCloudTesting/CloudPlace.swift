import KiiCloud
import KiiPush

/// A resource that a path of Kii's REST API names, below the app.
enum CloudPlace: Hashable {
    /// The record of a user, a group or a thing.
    case record(KiiScope)
    /// The collection in which a bucket's objects are created.
    case objects(KiiBucket)
    case object(KiiObject)
    case topic(KiiTopic)
    /// The collection to which a topic's pushes are sent.
    case messages(KiiTopic)
    case subscription(PushSource, PushSubscriber)
    case installations
    case installation(String)
    case endpoint(String)
    /// The results of a thing's command.
    case results(KiiThing, command: String)

    /// Parses a path; nil for an undocumented one.
    init?(_ path: String, app: String) {
        var parts: [String] = []
        for part in path.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            guard let text = Self.unescaped(part), !text.isEmpty else { return nil }
            parts.append(text)
        }
        guard parts.count >= 4, parts[1] == "apps", parts[2] == app else { return nil }
        let root = parts[0]
        parts.removeFirst(3)
        switch root {
        case "api": self.init(parts)
        case "thing-if": self.init(command: parts)
        default: return nil
        }
    }

    private init?(_ parts: [String]) {
        var (scope, words) = (KiiScope.app, parts)
        let owners: [String: (String) -> KiiScope] = [
            "users": { .user(KiiUser(id: $0)) }, "groups": { .group(KiiGroup(id: $0)) },
            "things": { .thing(KiiThing(id: $0)) },
        ]
        if parts.count > 1, let owner = owners[parts[0]] {
            scope = owner(parts[1])
            words.removeFirst(2)
        }
        switch (words.first, words.count) {
        case (nil, _) where scope != .app: self = .record(scope)
        case ("buckets", 3) where words[2] == "objects": self = .objects(Self.bucket(scope, words[1]))
        case ("buckets", 4) where words[2] == "objects":
            self = .object(KiiObject(bucket: Self.bucket(scope, words[1]), id: words[3]))
        case ("buckets", 8) where words[2...3] == ["filters", "all"]:
            self.init(.bucket(Self.bucket(scope, words[1])), Array(words[4...]))
        case ("topics", 2): self = .topic(KiiTopic(scope: scope, name: words[1]))
        case ("topics", 4) where words[2...] == ["push", "messages"]:
            self = .messages(KiiTopic(scope: scope, name: words[1]))
        case ("topics", 6): self.init(.topic(KiiTopic(scope: scope, name: words[1])), Array(words[2...]))
        case ("installations", 1) where scope == .app: self = .installations
        case ("installations", 2) where scope == .app: self = .installation(words[1])
        case ("installations", 3) where scope == .app && words[2] == "mqtt-endpoint": self = .endpoint(words[1])
        default: return nil
        }
    }

    private init?(_ source: PushSource, _ words: [String]) {
        guard words.count == 4, words[0...1] == ["push", "subscriptions"] else { return nil }
        switch words[2] {
        case "users": self = .subscription(source, .user(KiiUser(id: words[3])))
        case "things": self = .subscription(source, .thing(KiiThing(id: words[3])))
        default: return nil
        }
    }

    private init?(command parts: [String]) {
        guard parts.count == 5, parts[0] == "targets", parts[1].hasPrefix("thing:"), parts[2] == "commands",
            parts[4] == "action-results"
        else { return nil }
        self = .results(KiiThing(id: String(parts[1].dropFirst("thing:".count))), command: parts[3])
    }

    private static func bucket(_ scope: KiiScope, _ word: String) -> KiiBucket {
        guard word.hasPrefix("CRYPTO:") else { return KiiBucket(scope: scope, name: word) }
        return KiiBucket(scope: scope, name: String(word.dropFirst("CRYPTO:".count)), type: .crypto)
    }

    private static func unescaped(_ part: Substring) -> String? {
        let escaped = Array(part.utf8)
        guard FormText.firstIncomplete(escaped) == nil else { return nil }
        return String(validating: FormText.unescaped(escaped).bytes, as: UTF8.self)
    }
}

extension CloudState {
    /// Everything undocumented in a request.
    func violations(of request: HTTPRequest) -> [String] {
        let common = ["authorization", "x-kii-appid", "x-kii-appkey"]
        // Those that an HTTP client adds.
        let added = ["host", "user-agent", "accept", "content-length"]
        let names = request.headers.map { $0.name.lowercased() }
        var found = common.filter { !names.contains($0) }.map { "no header \($0)" }
        found += Set(names).filter { name in names.count { $0 == name } > 1 }.map { "\($0) comes twice" }
        if let value = request[header: "X-Kii-AppID"], value != app { found.append("another app in X-Kii-AppID") }
        if let value = request[header: "X-Kii-AppKey"], Secret(value) != key { found.append("a wrong X-Kii-AppKey") }
        if let value = request[header: "Authorization"], !value.hasPrefix("Bearer ") { found.append("no bearer token") }
        guard let place = CloudPlace(request.path, app: app) else { return found + ["a path that is not documented"] }
        guard let call = Call(request, place) else { return found + ["a method that is not documented for the path"] }
        let allowed = common + added + call.headers
        found += names.filter { !allowed.contains($0) }.map { "the header \($0) is not documented" }
        return found + call.violations(of: request)
    }
}

/// A documented call: the specific parts of its request.
private struct Call {
    var type: String?
    var accept: String?
    var conditions: [String] = []
    var override: String?

    private static let json = "application/json"

    init?(_ request: HTTPRequest, _ place: CloudPlace) {
        switch (place, request.method) {
        case (.record(.user), .get), (.object, .get), (.topic, .put), (.subscription, .put), (.subscription, .delete),
            (.installation, .delete), (.endpoint, .get):
            break
        case (.record(.group), .get): accept = Self.kii("GroupRetrievalResponse")
        case (.record(.thing), .get): accept = Self.kii("ThingRetrievalResponse")
        case (.objects, .post): type = Self.json
        case (.object, .delete): conditions = ["if-match"]
        case (.object, .put): (type, conditions) = (Self.json, ["if-match", "if-none-match"])
        case (.object, .post): (type, conditions, override) = (Self.json, ["if-match"], "PATCH")
        case (.messages, .post):
            (type, accept) = (Self.kii("SendPushMessageRequest"), Self.kii("SendPushMessageResponse"))
        case (.installations, .post): type = Self.kii("InstallationCreationRequest")
        case (.results, .put): type = Self.json
        default: return nil
        }
    }

    private static func kii(_ name: String) -> String { "application/vnd.kii.\(name)+json" }

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
