import KiiPushTesting

@testable import KiiPush

/// A route as its author means it, judged through what everybody can ask of a message.
struct RouteSpec {
    struct Pattern {
        let text: String
        let isExact: Bool

        var pattern: TextPattern { isExact ? .exactly(text) : TextPattern(text) }

        func takes(_ value: String) -> Bool {
            isExact ? Array(text.utf8) == Array(value.utf8) : Glob.matches(Array(text.utf8), Array(value.utf8))
        }
    }

    var kind: PushKind?
    var bucket: [Pattern]?
    var object: [Pattern]?
    var topic: [Pattern]?
    /// Kinds of scope, each with the patterns of its id; nil leaves the id open.
    var scope: [(kind: MessageScope.Kind, id: [Pattern]?)]?
    var events: [String]?
    var sender: [(type: String, id: [Pattern])]?
    var certainty: [Certainty] = [.certain, .likely]
    var flow = RouteFlow.stop

    var criteria: RouteCriteria {
        func text(_ patterns: [Pattern]) -> TextPattern { .anyOf(patterns.map(\.pattern)) }
        var criteria = RouteCriteria()
        criteria.kinds = kind.map { KindSet($0) } ?? .all
        criteria.bucket = bucket.map(text)
        criteria.object = object.map(text)
        criteria.topic = topic.map(text)
        criteria.scope = scope.map { alternatives in
            join(
                alternatives.map { kind, id in
                    switch kind {
                    case .user: .user(id.map(text))
                    case .group: .group(id.map(text))
                    case .thing: .thing(id.map(text))
                    case .app, .unknown: .app
                    }
                })
        }
        criteria.events = events.map { .anyOf($0.map { .exactly($0) }) }
        criteria.sender = sender.map { alternatives in
            join(
                alternatives.map { type, id in
                    type == "user" ? .user(text(id)) : type == "thing" ? .thing(text(id)) : .admin(text(id))
                })
        }
        criteria.certainty = certainty
        return criteria
    }

    // Literals are the public way to join patterns, and they have no variable length.
    private func join(_ patterns: [ScopePattern]) -> ScopePattern { patterns.reduce([]) { [$0, $1] } }
    private func join(_ patterns: [SenderPattern]) -> SenderPattern { patterns.reduce([]) { [$0, $1] } }

    func takes(_ message: PushMessage) -> Bool {
        func fits(_ patterns: [Pattern]?, _ value: String?) -> Bool {
            guard let patterns else { return true }
            guard let value else { return false }
            return patterns.contains { $0.takes(value) }
        }
        let scope = message.scope
        let fitsScope = self.scope.map { alternatives in
            alternatives.contains { kind, id in
                kind == scope.kind && (id == nil || kind == .app || fits(id, scope.id))
            }
        }
        let fitsSender = sender.map { alternatives in
            alternatives.contains { type, id in
                message.sender.map { $0.typeName == type && fits(id, $0.id) } ?? false
            }
        }
        return (kind == nil || kind == message.kind) && fits(bucket, message.bucket?.name)
            && fits(object, message.object?.id) && fits(topic, message.topic?.name) && fitsScope ?? true
            && fits(events?.map { Pattern(text: $0, isExact: true) }, message.event?.name) && fitsSender ?? true
    }
}

/// Random routes and payloads out of few words, so that they meet often.
struct RandomRouting {
    private var source: SeededGenerator
    /// Among them: an empty beginning, an escape, the two ways to write one letter, and a star.
    private let words = [
        "a", "ab", "b", "ba", "caf\u{E9}", "cafe\u{301}", "\"q\"", "x*", "th.1", "a long word, over 16",
    ]

    init(seed: UInt64) { source = SeededGenerator(seed: seed) }

    mutating func count(in range: ClosedRange<Int>) -> Int { .random(in: range, using: &source) }
    private mutating func chance(_ percent: Int) -> Bool { count(in: 1...100) <= percent }
    private mutating func word() -> String { words[count(in: 0...(words.count - 1))] }

    private mutating func pattern() -> RouteSpec.Pattern {
        switch count(in: 0...9) {
        case 0: RouteSpec.Pattern(text: "*", isExact: false)
        case 1: RouteSpec.Pattern(text: String(word().prefix(1)) + "*", isExact: false)
        case 2: RouteSpec.Pattern(text: "*" + String(word().suffix(1)), isExact: false)
        case 3: RouteSpec.Pattern(text: word(), isExact: true)
        default: RouteSpec.Pattern(text: word(), isExact: !chance(50))
        }
    }

    private mutating func patterns() -> [RouteSpec.Pattern] {
        (0..<(chance(3) ? 0 : count(in: 1...3))).map { _ in pattern() }
    }

    mutating func route() -> RouteSpec {
        var spec = RouteSpec()
        if chance(40) { spec.kind = PushKind.allCases[count(in: 0...2)] }
        if chance(30) { spec.bucket = patterns() }
        if chance(20) { spec.object = patterns() }
        if chance(20) { spec.topic = patterns() }
        if chance(30) {
            let kinds: [MessageScope.Kind] = [.app, .user, .group, .thing]
            spec.scope = (0..<count(in: 1...3)).map { _ in
                let kind = kinds[count(in: 0...3)]
                return (kind, kind == .app || chance(20) ? nil : patterns())
            }
        }
        if chance(20) { spec.events = (0..<count(in: 1...2)).map { _ in word() } }
        if chance(20) {
            spec.sender = (0..<count(in: 1...2)).map { _ in (["user", "thing", "admin"][count(in: 0...2)], patterns()) }
        }
        if chance(30) { spec.certainty = Certainty.allCases.filter { _ in chance(60) } }
        if chance(60) { spec.flow = .continue }
        return spec
    }

    mutating func payload() -> RawPayload {
        var fixture = PayloadFixture()
        let kind = count(in: 0...9)
        if kind < 5 || kind == 8 {
            fixture.fields[.bucketID] = word()
            if chance(70) { fixture.fields[.objectID] = word() }
            if chance(70) { fixture.fields[.origin] = "EVENT" }
        }
        if kind >= 5, kind < 9 { fixture.fields[.topic] = word() }
        if chance(80) {
            let types = ["APP", "APP_AND_USER", "APP_AND_GROUP", "APP_AND_THING", "APP_AND_DOG"]
            fixture.fields[.scopeType] = types[count(in: 0...4)]
        }
        for field in [KiiField.scopeUserID, .scopeGroupID, .scopeThingID] where chance(60) {
            fixture.fields[field] = word()
        }
        if chance(60) { fixture.fields[.type] = word() }
        if chance(60) { fixture.fields[.sender] = word() }
        if chance(20) {
            fixture.fields[.senderURI] = "kiicloud://\(["users", "things", "admins"][count(in: 0...2)])/ab"
        }
        return fixture.payload(PayloadFixture.KeyStyle.allCases[count(in: 0...2)])
    }
}

/// What a star means, by trying everything: slow and plain.
enum Glob {
    static func matches(_ pattern: [UInt8], _ text: [UInt8]) -> Bool {
        // For each length of the text's beginning: whether the pattern so far takes just that.
        var reached = [true] + [Bool](repeating: false, count: text.count)
        for byte in pattern {
            var next = [Bool](repeating: false, count: text.count + 1)
            for length in reached.indices where reached[length] {
                if byte == UInt8(ascii: "*") {
                    for longer in length...text.count { next[longer] = true }
                } else if length < text.count, text[length] == byte {
                    next[length + 1] = true
                }
            }
            reached = next
        }
        return reached[text.count]
    }
}
