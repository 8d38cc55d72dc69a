import Foundation

enum Outcome: String {
    case handled
    case duplicate
    case looped
    case paced
    case refused
    case unrouted
    case undecodable
}

/// The last 20,000 messages of 10 minutes; 5 seconds for those that are known by their bytes alone.
private struct Seen {
    enum Key: Hashable {
        case event(app: String?, scope: String?, id: String?, bucket: String?, object: String?, event: String?, String)
        case topic(app: String?, scope: String?, id: String?, topic: String?, sender: String?, String, Data)
        case payload(Data)

        init(_ message: Message) {
            switch (message.kind, message.when) {
            case (.pushToApp, let when?):
                self = .event(
                    app: message.app, scope: message.scope, id: message.scopeID, bucket: message.bucket,
                    object: message.object, event: message.event, when)
            case (.pushToUser, let when?):
                self = .topic(
                    app: message.app, scope: message.scope, id: message.scopeID, topic: message.topic,
                    sender: message.sender, when, message.bytes)
            default: self = .payload(message.bytes)
            }
        }

        var age: Duration {
            if case .payload = self { .seconds(5) } else { .seconds(600) }
        }
    }

    // Keys are hashed once, to a word that stands for them.
    private var until: [Int: ContinuousClock.Instant] = [:]
    private var order: [Int] = []
    private var oldest = 0
    private let count = 20_000

    func contains(_ key: Int, _ now: ContinuousClock.Instant) -> Bool { until[key].map { now < $0 } ?? false }

    mutating func remember(_ key: Int, until end: ContinuousClock.Instant) {
        guard until.updateValue(end, forKey: key) == nil else { return }
        if order.count < count {
            order.append(key)
        } else {
            until[order[oldest]] = nil
            order[oldest] = key
            oldest = (oldest + 1) % count
        }
    }
}

/// Messages of one object, or of one topic and sender, counted in windows of 10 seconds.
private struct Rate {
    struct Key: Hashable {
        let route: Int
        let bucket, object, topic, sender: String?
    }

    private var counts: [Key: (start: ContinuousClock.Instant, count: Int)] = [:]
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    mutating func passes(_ route: Int, _ message: Message, _ now: ContinuousClock.Instant) -> Bool {
        let key = Key(
            route: route, bucket: message.bucket, object: message.object, topic: message.topic, sender: message.sender)
        if counts.count >= 10_000 { counts = counts.filter { now < $0.value.start + .seconds(10) } }
        var entry = counts[key] ?? (now, 0)
        if now >= entry.start + .seconds(10) { entry = (now, 0) }
        entry.count += 1
        counts[key] = entry
        return entry.count <= limit
    }
}

/// A receiver as one would write it for one agent: no lock, no task.
final class Receiver {
    typealias Handler = (Message) -> Void

    private let app: String
    private let me: String
    private let decoder = JSONDecoder()
    private var handlers: [Handler] = []
    private var buckets: [String: Int] = [:]
    private var topics: [String: Int] = [:]
    private var direct: Int?
    private var seen = Seen()
    private var rate: Rate

    init(app: String, me: String, limit: Int) {
        self.app = app
        self.me = me
        rate = Rate(limit: limit)
    }

    func onBucket(_ name: String, _ handler: @escaping Handler) { buckets[name] = add(handler) }

    func onTopic(_ name: String, _ handler: @escaping Handler) { topics[name] = add(handler) }

    func onDirectPush(_ handler: @escaping Handler) { direct = add(handler) }

    private func add(_ handler: @escaping Handler) -> Int {
        handlers.append(handler)
        return handlers.count - 1
    }

    func parse(_ bytes: Data) -> Message? {
        (try? decoder.decode(Payload.self, from: bytes)).map { Message($0, bytes) }
    }

    func receive(_ bytes: Data) -> Outcome {
        guard let message = parse(bytes) else { return .undecodable }
        let route = route(of: message)
        let now = ContinuousClock.now
        let fullKey = Seen.Key(message)
        let (key, end) = (fullKey.hashValue, now + fullKey.age)
        if seen.contains(key, now) { return .duplicate }
        if message.sender == me {
            seen.remember(key, until: end)
            return .looped
        }
        if let app = message.app, app != self.app { return .refused }
        guard serves(message) else { return .refused }
        guard let route else { return .unrouted }
        let passes = rate.passes(route, message, now)
        if passes { handlers[route](message) }
        seen.remember(key, until: end)
        return passes ? .handled : .paced
    }

    private func route(of message: Message) -> Int? {
        switch message.kind {
        case .pushToApp: message.bucket.flatMap { buckets[$0] }
        case .pushToUser: message.topic.flatMap { topics[$0] }
        case .directPush: direct
        }
    }

    private func serves(_ message: Message) -> Bool {
        switch message.scope {
        case nil, "APP": true
        case "APP_AND_USER": message.scopeID != nil
        default: false
        }
    }
}
