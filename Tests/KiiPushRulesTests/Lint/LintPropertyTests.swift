import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushRules
@testable import KiiPushTestSupport

/// What the lint proves, against random rules and messages.
struct LintPropertyTests {
    @Test("a rule that is said to take no message takes none", arguments: 0..<60)
    func dead(seed: UInt64) throws {
        var source = RandomRouting(seed: seed)
        var data = RandomData(seed: seed)
        let specs = (0..<source.count(in: 2...30)).map { _ in source.route() }
        let routes = specs.enumerated().map { number, spec in
            var criteria = spec.criteria
            criteria.data = data.conditions()
            criteria.groups = Self.groups(&source, &data, levels: 2)
            return Route("r\(number)", flow: spec.flow, criteria: criteria)
        }.filter { route in
            let text = LintSamples.rule(route)
            return !["[]", "[{}", ",{}", "\"not\":{}"].contains(where: text.contains)
        }
        let rules = try RoutingRules(LintSamples.file(routes.map { LintSamples.rule($0) }))
        let findings = rules.lint()
        let table = RouteTable(routes)
        let dead = Set(findings.filter { $0.code == .shadowed || $0.code == .neverMatches }.compactMap(\.rule))
        var payloads = PayloadFixture.matrix.map(\.payload)
        for _ in 0..<150 { payloads.append(try data.added(to: source.payload())) }
        for payload in payloads {
            let message = try PushMessage(payload)
            let taken = table.match(message.storage).routes.ids
            #expect(dead.isDisjoint(with: taken), "seed \(seed)")
            for rule in rules.rules {
                let buffer = message.storage.buffer
                let matches = rule.criteria.matchesContent(buffer.span, message.storage)
                let holds = rule.explain(message).allSatisfy { $0.holds || $0.name == "certainty" }
                #expect(matches == holds, "seed \(seed)")
            }
        }
    }

    /// Combined conditions, or none.
    private static func groups(_ source: inout RandomRouting, _ data: inout RandomData, levels: Int) -> [ConditionGroup]
    {
        guard levels > 0, source.count(in: 0...2) == 0 else { return [] }
        let combining = ConditionGroup.Operator.allCases[source.count(in: 0...2)]
        var parts: [RouteCriteria] = []
        for _ in 0..<(combining == .not ? 1 : source.count(in: 1...3)) {
            var part = source.route().criteria
            part.certainty = RouteCriteria().certainty
            part.data = data.conditions()
            part.groups = groups(&source, &data, levels: levels - 1)
            parts.append(part)
        }
        return [ConditionGroup(combining, parts)]
    }

    @Test("random rules contain shadows, so that the test above checks something")
    func deadExist() throws {
        var count = 0
        for seed in 0..<60 as Range<UInt64> {
            var source = RandomRouting(seed: seed)
            let routes = (0..<20).map { Route("r\($0)", flow: .stop, criteria: source.route().criteria) }
            let text = LintSamples.file(routes.map { LintSamples.rule($0) }.filter { !$0.contains("[]") })
            count += try RoutingRules(text).lint().count { $0.code == .shadowed }
        }
        #expect(count > 100)
    }

    @Test("a pattern covers another if and only if no word of a small alphabet contradicts it", arguments: 0..<40)
    func patterns(seed: UInt64) {
        var source = SeededGenerator(seed: seed)
        let words = Self.words(upTo: 5)
        for _ in 0..<40 {
            let (left, right) = (Self.pattern(&source), Self.pattern(&source))
            let isCovered = words.allSatisfy { !right.matches($0) || left.matches($0) }
            let meet = words.contains { left.matches($0) && right.matches($0) }
            if left.covers(right) { #expect(isCovered) }
            // The words are long enough for these patterns, and one letter stands in none of them.
            if isCovered { #expect(left.covers(right), "\(left) \(right)") }
            if meet { #expect(left.mayMeet(right)) }
        }
    }

    private static func pattern(_ source: inout SeededGenerator) -> TextPattern {
        .anyOf(
            (0..<Int.random(in: 1...2, using: &source)).map { _ in
                TextPattern(
                    String(
                        (0..<Int.random(in: 1...3, using: &source)).map { _ in
                            "ab*".randomElement(using: &source) ?? "a"
                        }))
            })
    }

    private static func words(upTo length: Int) -> [String] {
        var words = [""]
        var last = [""]
        for _ in 0..<length {
            last = last.flatMap { word in ["a", "b", "c"].map { word + $0 } }
            words += last
        }
        return words
    }

    @Test("a predicate that never or always holds does so for every sample value", arguments: 0..<60)
    func predicates(seed: UInt64) {
        var source = RandomData(seed: seed)
        for _ in 0..<60 {
            let predicate = source.predicate(depth: 3)
            let (never, always) = (predicate.neverHolds, predicate.alwaysHolds)
            for sample in RandomData.samples {
                if never { #expect(!sample.meets(predicate), "\(predicate) \(sample)") }
                if always { #expect(sample.meets(predicate), "\(predicate) \(sample)") }
            }
        }
    }

    @Test("the check of a predicate ends in time if it is nested as deep as files allow")
    func bounded() {
        var nested: DataPredicate = .greater(1)
        for depth in 0..<60 { nested = .any([.not(nested), .all([.not(nested), .prefix("\(depth)")])]) }
        #expect(!nested.neverHolds && !nested.alwaysHolds)
    }

    @Test("strong components are the nodes that reach each other", arguments: 0..<40)
    func components(seed: UInt64) {
        var source = SeededGenerator(seed: seed)
        let count = Int.random(in: 1...9, using: &source)
        let edges = (0..<Int.random(in: 0...14, using: &source)).map { _ in
            (from: Int.random(in: 0..<count, using: &source), to: Int.random(in: 0..<count, using: &source))
        }
        var reach = (0..<count).map { from in (0..<count).map { $0 == from } }
        for _ in 0..<count {
            for (from, to) in edges {
                for node in 0..<count where reach[node][from] { reach[node][to] = true }
            }
        }
        let found = StrongComponents(count: count, edges: edges)
        for left in 0..<count {
            for right in 0..<count {
                #expect((found.numbers[left] == found.numbers[right]) == (reach[left][right] && reach[right][left]))
            }
        }
    }
}

/// Random predicates on data out of few values, and those values.
struct RandomData {
    private var source: SeededGenerator
    private static let texts = ["", "a", "ab", "b", "ba", "1", "2", "10", "-1", "1.0", "true", "x*"]
    private static let numbers = ["1", "1.0", "10e-1", "2", "10", "1e1", "-1", "0", "-0"]
    static let samples: [DataSample] =
        [.missing, .null] + texts.map { .text($0) }
        + ["aba", "3", "1e1", "false", "0", "0.0", "10e-1", "-10e-1"].map { .text($0) }

    init(seed: UInt64) { source = SeededGenerator(seed: seed &+ 77) }

    private mutating func text() -> String { Self.texts.randomElement(using: &source) ?? "a" }

    private mutating func literal() -> DataValue { .number(Self.numbers.randomElement(using: &source) ?? "1") }

    mutating func predicate(depth: Int) -> DataPredicate {
        let number = Int.random(in: -1...10, using: &source)
        switch Int.random(in: 0...(depth > 0 ? 14 : 10), using: &source) {
        case 0: return .equals(text())
        case 1: return .anyOf((0..<Int.random(in: 1...3, using: &source)).map { _ in text() })
        case 2: return .prefix(text())
        case 3: return .suffix(text())
        case 4: return .greater(number)
        case 5: return .less(number)
        case 6: return .exists(.random(using: &source))
        case 7: return .matches(TextPattern(["a*", "*b", "*", "a*b", "*1*"].randomElement(using: &source) ?? "*"))
        case 8: return .null
        case 9: return DataPredicate(.equals(literal()))
        case 10: return DataPredicate(.anyOf([literal(), .string(text()), literal()]))
        case 11: return .not(predicate(depth: depth - 1))
        case 12: return .any([predicate(depth: depth - 1), predicate(depth: depth - 1)])
        default: return .all([predicate(depth: depth - 1), predicate(depth: depth - 1)])
        }
    }

    mutating func conditions() -> [DataCondition] {
        guard Int.random(in: 0...2, using: &source) == 0 else { return [] }
        return [.data("k", predicate(depth: 2))]
    }

    /// The payload with a value of the key `k`, or without one.
    mutating func added(to payload: RawPayload) throws -> RawPayload {
        let text = String(decoding: payload.bytes, as: UTF8.self)
        guard text.hasPrefix("{"), text.count > 2, Bool.random(using: &source) else { return payload }
        let value = self.text()
        let isBare = ["1", "2", "10", "-1", "1.0", "true"].contains(value) && Bool.random(using: &source)
        return RawPayload(
            "{\"k\":\(isBare ? value : value.quotedAsJSON)," + text.dropFirst(), transport: payload.transport)
    }
}
