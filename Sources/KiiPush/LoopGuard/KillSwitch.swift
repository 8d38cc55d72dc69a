/// The target of a kill switch.
@nonexhaustive
public enum KillTarget: Sendable, Hashable, CustomStringConvertible {
    /// Every message.
    case everything
    /// Every message about a bucket; only of one app, if the URI names it.
    case bucket(KiiURI)
    /// Every message of one route; other routes still handle the same messages.
    case route(String)

    /// Reads a target as it is typed: `*`, a bucket's `kiicloud://` URI, or a route's id.
    ///
    /// Returns nil for no text, and for any other with `://` or `*` in it: taken for a route's id, it would silently
    /// stop nothing. Patterns do not match routes, and a route whose own id has those characters can be killed by code
    /// only.
    public init?(_ text: String) {
        if text == "*" {
            self = .everything
        } else if text.begins(exactlyWith: "kiicloud:") {
            guard let uri = KiiURI(text), case .bucket = uri.resource else { return nil }
            self = .bucket(uri)
        } else if text.isEmpty || text.utf8.contains(UInt8(ascii: "*")) || text.contains(exactly: "://") {
            return nil
        } else {
            self = .route(text)
        }
    }

    /// The target as it is typed.
    public var description: String {
        switch self {
        case .everything: "*"
        case .bucket(let uri): uri.description
        case .route(let id): id
        }
    }

    private var parts: (bucket: KiiURI?, route: ExactText?) {
        switch self {
        case .everything: (nil, nil)
        case .bucket(let uri): (uri, nil)
        case .route(let id): (nil, ExactText(id))
        }
    }

    /// Whether two targets are the same; ids of routes to the byte.
    public static func == (left: KillTarget, right: KillTarget) -> Bool { left.parts == right.parts }

    /// Hashes the target.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(parts.bucket)
        hasher.combine(parts.route)
    }
}

/// The targets that are switched off, each until its end: by calls, and by an external list, such as a file.
struct KillSwitch {
    /// How many targets calls switch off at most.
    static let limit = 1024

    /// Some may have ended.
    private var byCall: [KillTarget: MonotonicInstant] = [:]
    private var byList: [KillTarget: MonotonicInstant] = [:]
    /// When all of them have ended.
    private var lastEnd = MonotonicInstant(nanoseconds: .min)

    func isIdle(at now: MonotonicInstant) -> Bool { lastEnd <= now }

    /// Switches a target off until `end`, or until a later end that it has already; beyond the limit, the one that ends
    /// first is on again.
    mutating func kill(_ target: KillTarget, until end: MonotonicInstant) {
        byCall[target] = max(byCall[target] ?? end, end)
        lastEnd = max(lastEnd, end)
        guard byCall.count > Self.limit else { return }
        if let first = byCall.min(by: { $0.value < $1.value })?.key { byCall[first] = nil }
    }

    /// Switches a target on again, whoever switched it off.
    mutating func revive(_ target: KillTarget) {
        byCall[target] = nil
        byList[target] = nil
    }

    mutating func setList(_ ends: [KillTarget: MonotonicInstant]) {
        byList = ends
        lastEnd = ends.values.reduce(lastEnd) { max($0, $1) }
    }

    /// The targets that are off at `now`.
    func targets(at now: MonotonicInstant) -> [KillTarget: MonotonicInstant] {
        byCall.merging(byList) { max($0, $1) }.filter { $0.value > now }
    }

    /// Those of the routes that do not get a message, and whether it is stopped as a whole.
    func stops(
        _ message: RoutedMessage, _ routes: some Sequence<Route>, at now: MonotonicInstant
    ) -> (isWhole: Bool, routes: [Route]) {
        func isOff(_ target: KillTarget) -> Bool { byCall[target] ?? now > now || byList[target] ?? now > now }
        var isWhole = isOff(.everything)
        if let uri = message.message.bucket?.uri {
            let app = message.message.appID ?? message.app
            let inApp = KiiURI(appID: app, owner: uri.owner, resource: uri.resource)
            isWhole = isWhole || isOff(.bucket(uri)) || isOff(.bucket(inApp))
        }
        return (isWhole, routes.filter { isWhole || isOff(.route($0.id)) })
    }
}
