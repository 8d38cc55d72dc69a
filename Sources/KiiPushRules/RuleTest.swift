package import KiiPush

/// A test in a rules file: steps on a virtual clock, starting with an empty receiver at 0 s.
package struct RuleTest: Sendable {
    package let name: String
    /// The wall clock's time at 0 s, in milliseconds since 1970 as `PushMessage.sentAt`; nil if the test does not set
    /// it.
    ///
    /// Without it, the wall clock is set to the sending time of the first message that has one, when that arrives.
    package let now: Int64?
    /// The rows of the table of values that the test runs with, in order; empty if it has none and runs once.
    package let params: [ParameterValues]
    /// The steps, in order; a test without steps fails.
    package let steps: [RuleTestStep]
    package let position: SourcePosition

    /// For each run, the number of its rules in those with other values; nil for rules without parameters.
    var variants: [Int]?
}

package struct RuleTestStep: Sendable {
    package enum Action: Sendable, Hashable {
        case receive(Incoming)
        /// A handler announces a write to this object, and completes it.
        case write(KiiURI)
        case kill(KillTarget)
        case revive(KillTarget)
    }

    package struct Incoming: Sendable, Hashable {
        /// The payload's bytes: the JSON text from the file, or the text of `raw`.
        package let bytes: [UInt8]
        package let transport: Transport?
        /// What an MQTT broker says of it; nil if the step does not say.
        package let mqtt: MQTTPublish?
        /// The names of the handlers that fail: a handler's name, or the id of a rule that names none.
        package let fail: [String]

        package var payload: RawPayload {
            var payload = RawPayload(bytes, transport: transport)
            payload.mqtt = mqtt
            return payload
        }
    }

    /// The step's time from the test's beginning; never before the previous step, whose time is the default.
    package let at: Duration
    package let action: Action
    /// The expected result; nil if the step does not say, which is allowed only if it receives nothing.
    package let expect: RuleExpectation?
    package let position: SourcePosition

    let transportPosition: SourcePosition?
}

/// The result that a test expects for a message; nil properties are not compared.
package struct RuleExpectation: Sendable {
    package fileprivate(set) var outcome: String?
    package fileprivate(set) var reason: String?
    package fileprivate(set) var layer: String?
    package fileprivate(set) var code: String?
    /// The ids of the matching routes, complete and in order.
    package fileprivate(set) var rules: [String]?
    /// The handlers that were called, failed ones included, complete and in order; a rule without a handler appears
    /// with its id.
    package fileprivate(set) var handlers: [String]?
    /// The expected cloud actions, complete and in order: as `then` writes them, with placeholders filled in and
    /// without the sender.
    package fileprivate(set) var cloud: [DataValue]?
    package fileprivate(set) var kind: PushKind?
    package fileprivate(set) var certainty: Certainty?
    package fileprivate(set) var positions: [String: SourcePosition] = [:]
    package let position: SourcePosition

    /// Whether the file names nothing to compare.
    package var isEmpty: Bool { positions.isEmpty }

    /// Whether the rules are expected to have handled the message, since nothing is said of its end.
    var impliesHandled: Bool {
        let ends = ["outcome", "reason", "layer", "code", "handlers"]
        return rules?.isEmpty == false && ends.allSatisfy { positions[$0] == nil }
    }

    /// Whether a rule, or its handler, is expected.
    func names(_ rule: RoutingRule) -> Bool {
        rules?.containsExactly(rule.id) == true || handlers?.containsExactly(rule.handlerName) == true
    }

    /// The outcomes that a test may name; only a service quarantines, and a test has none.
    static let outcomes = OutcomeCounters.outcomes.filter { $0 != "quarantined" }
}

extension RulesReader {
    mutating func tests(_ node: PlacedValue, _ rules: [RoutingRule], _ parameters: [RuleParameter]) -> [RuleTest] {
        // A rule with a problem is missing, and was already reported.
        let known = RuleNames(rules, isComplete: error == nil)
        var tests: [RuleTest] = []
        for node in list(node, "a list of tests") ?? [] {
            guard let object = object(node, "a test: an object with name and steps", keys: Self.testKeys) else {
                continue
            }
            let name = required("name", of: object).flatMap { self.name($0, "the test's name") } ?? ""
            let start = object["now"].flatMap { integer($0, in: 0...253_402_300_799_999) }
            var steps: [RuleTestStep] = []
            if let list = required("steps", of: object).flatMap({ list($0, "a list of steps") }) {
                var now = Duration.zero
                for node in list {
                    if let step = step(node, &now, known) { steps.append(step) }
                }
            }
            let rows = object["params"].map { self.rows($0, parameters) } ?? []
            tests.append(
                RuleTest(
                    name: name, now: start.map { Int64($0) }, params: rows, steps: steps,
                    position: position(object.node.offset)))
        }
        return tests
    }

    static let testKeys = ["name", "now", "params", "steps"]

    private static let stepActions = ["payload", "raw", "gap", "write", "kill", "revive"]
    static let stepKeys = ["at"] + stepActions + ["transport", "mqtt", "fail", "expect"]

    mutating func step(_ node: PlacedValue, _ now: inout Duration, _ known: RuleNames) -> RuleTestStep? {
        guard let object = object(node, "a step: an object with at and what happens", keys: Self.stepKeys) else {
            return nil
        }
        if let node = object["at"], let at = duration(node) {
            if at < now { report(node.offset, "expected \(now.ruleText) or later, the time of the step before") }
            now = max(now, at)
        }
        let expect = object["expect"].flatMap { expectation($0, known) }
        let named = Self.stepActions.filter { object[$0] != nil }
        guard named.count == 1, let name = named.first, let value = object[name] else {
            return refuse(
                node.offset,
                "expected exactly one of \(Self.stepActions.joined(separator: ", ")) in a step, found \(named.count)")
        }
        refuseKeysOfMessages(object, name)
        guard let action = stepAction(name, value, object, known) else { return nil }
        return RuleTestStep(
            at: now, action: action, expect: expect, position: position(node.offset),
            transportPosition: object["transport"].map { position($0.offset) })
    }

    private mutating func refuseKeysOfMessages(_ object: RulesObject, _ name: String) {
        let keys =
            switch name {
            case "payload", "raw": [String]()
            case "gap": ["mqtt"]
            default: ["transport", "mqtt", "fail", "expect"]
            }
        for key in keys {
            guard let member = object.member(key) else { continue }
            let why = name == "gap" ? "no broker sends a gap" : "no message arrives at a step with '\(name)'"
            report(member.keyOffset, "'\(key)' needs a payload; \(why)")
        }
    }

    private mutating func stepAction(
        _ name: String, _ value: PlacedValue, _ object: RulesObject, _ known: RuleNames
    ) -> RuleTestStep.Action? {
        switch name {
        case "write":
            return target(value, "the kiicloud:// URI of an object", fills: false) { $0.object != nil }
                .map { .write($0) }
        case "kill": return killTarget(value, known).map { .kill($0) }
        case "revive": return killTarget(value, known).map { .revive($0) }
        case "gap":
            guard let cause: Gap.Cause = choice(value, "cause of a gap") else { return nil }
            let gap = Gap(cause, transport: transport(of: object), reason: "a test's")
            return .receive(
                RuleTestStep.Incoming(
                    bytes: gap.payload(number: Int64(value.offset)).bytes, transport: .gap, mqtt: nil,
                    fail: handlersToFail(object, known)))
        default:
            let transport = transport(of: object)
            let mqtt = object["mqtt"].flatMap { publish($0) }
            let fail = handlersToFail(object, known)
            let isRaw = name == "raw"
            if isRaw, string(value, "the payload's bytes as a string") == nil { return nil }
            let text = source.bytes.span
            let bytes = isRaw ? value.token.bytes(in: text) : Array(source.bytes[value.token.rangeWithQuotes])
            return .receive(
                RuleTestStep.Incoming(
                    bytes: bytes, transport: transport.map { Transport($0) }, mqtt: mqtt, fail: fail))
        }
    }

    private mutating func killTarget(_ node: PlacedValue, _ known: RuleNames) -> KillTarget? {
        let expected = "a rule's id, a bucket's kiicloud:// URI, or \"*\""
        guard let text = name(node, expected) else { return nil }
        guard let target = KillTarget(text) else { return refuse(node, expected, found: text) }
        if case .route = target { refuseUnknownRule(text, node, known) }
        return target
    }

    private mutating func refuseUnknownRule(_ id: String, _ node: PlacedValue, _ known: RuleNames) {
        if !known.hasRule(id) { report(node.offset, Suggestion.unknown("rule", id, known: known.rules)) }
    }

    private mutating func transport(of step: RulesObject) -> String? {
        step["transport"].flatMap { name($0, "the name of a transport") }
    }

    private mutating func handlersToFail(_ step: RulesObject, _ known: RuleNames) -> [String] {
        step["fail"].flatMap { handlers($0, known) } ?? []
    }

    private mutating func handlers(_ node: PlacedValue, _ known: RuleNames) -> [String]? {
        list(node, "a list of handlers' names")?.compactMap { node in
            guard let name = name(node, "the name of a handler") else { return nil }
            if !known.hasHandler(name) {
                report(node.offset, Suggestion.unknown("handler", name, known: known.handlers))
            }
            return name
        }
    }

    private mutating func rules(_ node: PlacedValue, _ known: RuleNames) -> [String]? {
        list(node, "a list of rules' ids")?.compactMap { node in
            guard let id = name(node, "the id of a rule") else { return nil }
            refuseUnknownRule(id, node, known)
            return id
        }
    }

    static let expectKeys = ["outcome", "reason", "layer", "code", "rules", "handlers", "cloud", "kind", "certainty"]

    private mutating func expectation(_ node: PlacedValue, _ known: RuleNames) -> RuleExpectation? {
        guard let object = object(node, "an object with what is expected", keys: Self.expectKeys) else { return nil }
        var expect = RuleExpectation(position: position(node.offset))
        func texts(_ names: [String]) -> [(name: String, value: String)] { names.map { ($0, $0) } }
        for member in object.members {
            let value = member.value
            expect.positions[member.key] = position(member.keyOffset)
            switch member.key {
            case "outcome": expect.outcome = choice(value, "outcome", texts(RuleExpectation.outcomes))
            case "reason": expect.reason = name(value, "a reason")
            case "layer": expect.layer = choice(value, "layer", texts(LoopLayer.ofOutcomes.map(\.rawValue)))
            case "code": expect.code = choice(value, "code", texts(DecodeError.Code.allCases.map(\.rawValue)))
            case "rules": expect.rules = rules(value, known)
            case "handlers": expect.handlers = handlers(value, known)
            case "cloud": expect.cloud = cloudActions(value)
            case "kind": expect.kind = choice(value, "kind")
            case "certainty": expect.certainty = choice(value, "certainty")
            default: expect.positions[member.key] = nil
            }
        }
        return expect
    }
}

extension RulesReader {
    /// The expected cloud actions: objects with `write` or `send`.
    private mutating func cloudActions(_ node: PlacedValue) -> [DataValue]? {
        list(node, "a list of objects with write or send")?.compactMap { node in
            guard let object = object(node, "an object with write or send", keys: Self.cloudActions) else { return nil }
            guard object.members.count == 1, let only = object.members.first else {
                return refuse(node.offset, "expected exactly one of write and send, found \(object.members.count)")
            }
            guard only.value.token.kind == .object else { return refuse(only.value, expected: "an object") }
            return node.value
        }
    }

    private static let cloudActions = ["write", "send"]
}

/// The names that a file's tests may use.
package struct RuleNames {
    package let rules: [String]
    package let handlers: [String]
    private let ruleSet: Set<ExactText>
    private let handlerSet: Set<ExactText>

    private let isComplete: Bool

    package init(_ rules: [RoutingRule], isComplete: Bool) {
        self.isComplete = isComplete
        self.rules = rules.map(\.id)
        ruleSet = Set(self.rules.map { ExactText($0) })
        var seen: Set<ExactText> = []
        handlers = rules.map(\.handlerName).filter { seen.insert(ExactText($0)).inserted }
        handlerSet = seen
    }

    package func hasRule(_ id: String) -> Bool { !isComplete || ruleSet.contains(ExactText(id)) }
    package func hasHandler(_ name: String) -> Bool { !isComplete || handlerSet.contains(ExactText(name)) }
}

extension RoutingRule {
    /// The name of the rule's handler in tests: its own name, or the rule's id if it has none.
    package var handlerName: String {
        guard case .handler(let name) = action else { return id }
        return name
    }
}

extension JSONToken {
    /// The range of the value in the text, including a string's quotes.
    fileprivate var rangeWithQuotes: Range<Int> {
        kind == .string ? (range.lowerBound - 1)..<(range.upperBound + 1) : range
    }
}
