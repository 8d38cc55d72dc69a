package import KiiPush

/// An unmet expectation of a rules file's test.
package struct RuleTestFailure: Error, Sendable {
    /// The file's name, as given when it was read.
    package let file: String
    /// The position of the expectation, or of the step or the test if that is wrong.
    package let position: SourcePosition
    /// The test's name; nil if the failure concerns the whole file.
    package internal(set) var test: String?
    /// The step's number in the test, from 1; nil if no step is at fault.
    package internal(set) var step: Int?
    package internal(set) var stepPosition: SourcePosition?
    /// The number of the row of the test's values, from 1; nil if it has none.
    package internal(set) var row: Int?
    /// The key of `expect`; nil if something else is wrong.
    package internal(set) var key: String?
    /// The expected value, as the rules file writes it; nil without a key.
    package internal(set) var expected: DataValue?
    /// The actual value; nil without a key, or if there is none.
    package internal(set) var actual: DataValue?
    package let what: String
    /// Each stage's verdict on the message, in order, as `stage: verdict`; empty if nothing was received.
    package internal(set) var stages: [String] = []
    /// Each rule's verdict on the message, in order; empty if nothing was received or decoded.
    package internal(set) var rules: [RuleVerdict] = []
}

extension RuleTestFailure: CustomStringConvertible {
    /// `file:line:column: test 'NAME', step 2 (line 24): outcome: expected "duplicate", found "handled"`, on one line.
    package var description: String { "\(file):\(position): \(reason)" }

    /// The same without the place.
    package var reason: String {
        guard let test else { return what }
        let step = step.map { ", step \($0) (line \(stepPosition?.line ?? 0))" } ?? ""
        let row = row.map { ", row \($0)" } ?? ""
        return "test '\(test)'\(row)\(step): \(what)"
    }

    /// An explanation for people, in lines: the stages, then at most 12 rules, in order.
    ///
    /// Of more rules, these are the expected ones, those that take the message, and those that come nearest to it.
    package var explanation: [String] {
        guard !stages.isEmpty else { return [] }
        var lines = stages.map { "stage \($0)" }
        let tried = rules.prefix { !$0.isNotTried }
        let shown = tried.count > 12 ? Self.nearest(tried) : Array(tried)
        lines += shown.map { "rule \($0.description(in: file))" }
        let others = tried.count - shown.count
        if others > 0 { lines.append("and \(counted(others, "more rule")), which 'kiipush rules explain' shows") }
        if let next = rules.dropFirst(tried.count).first {
            let more = rules.count - tried.count - 1
            lines.append("rule \(next.description(in: file))\(more > 0 ? " (and \(counted(more, "more rule")))" : "")")
        }
        return lines
    }

    private static func nearest(_ tried: ArraySlice<RuleVerdict>) -> [RuleVerdict] {
        let most = max(1, tried.filter { !$0.takesIt }.map(\.distance).min() ?? 0)
        return tried.enumerated().filter { $0.element.distance <= most }
            .sorted { ($0.element.distance, $0.offset) < ($1.element.distance, $1.offset) }.prefix(12)
            .sorted { $0.offset < $1.offset }.map(\.element)
    }
}

package struct RuleVerdict: Sendable {
    package enum Answer: Sendable {
        case takes
        /// The first condition that does not hold.
        case misses(RouteCheck)
        /// An earlier rule took the message and stopped it.
        case notTried(after: String)
    }

    package let rule: String
    /// The position of the rule, or of the condition that does not hold.
    package let position: SourcePosition
    package let answer: Answer
    /// How far the rule is from what the test's author looks for: 0 if it takes the message or is expected to.
    fileprivate let distance: Int

    fileprivate var isNotTried: Bool { if case .notTried = answer { true } else { false } }
    fileprivate var takesIt: Bool { if case .takes = answer { true } else { false } }

    fileprivate func description(in file: String) -> String {
        switch answer {
        case .takes: "'\(rule)' takes it (\(file):\(position))"
        case .notTried(let taker): "'\(rule)' is not tried: '\(taker)' took it"
        case .misses(let check):
            "'\(rule)' misses \(check.key.map { "\(check.name) \($0.quotedAsJSON)" } ?? check.name): "
                + "expected \(check.expected), \(Self.found(check)) (\(file):\(position))"
        }
    }

    private static func found(_ check: RouteCheck) -> String {
        if !check.parts.isEmpty { return check.reason ?? "" }
        return "found \(check.actual ?? "nothing")\(check.reason.map { ": \($0)" } ?? "")"
    }

    /// Each rule's verdict on a message, in order.
    static func all(_ message: PushMessage, _ rules: [RoutingRule], _ expect: RuleExpectation) -> [RuleVerdict] {
        var taker: String?
        return rules.map { rule in
            func verdict(_ answer: Answer, at place: SourcePosition? = nil, distance: Int = 0) -> RuleVerdict {
                RuleVerdict(rule: rule.id, position: place ?? rule.position, answer: answer, distance: distance)
            }
            if let taker { return verdict(.notTried(after: taker)) }
            guard let missed = rule.firstMiss(message) else {
                if rule.options.flow == .stop { taker = rule.id }
                return verdict(.takes)
            }
            let distance = expect.names(rule) ? 0 : rule.distance(missing: missed)
            let place = rule.places[RoutingRule.label(missed.name, missed.key)]
            return verdict(.misses(missed), at: place, distance: distance)
        }
    }
}

extension RoutingRule {
    /// 1 if a condition before the missed one says more than the kind, 2 if the message has a value for the missed one,
    /// 3 if it has none.
    fileprivate func distance(missing missed: RouteCheck) -> Int {
        let before = wanted.prefix { $0.name != missed.name || $0.key != missed.key }
        let isNear = missed.name != "on" && before.contains { $0.name != "kind" && $0.name != "certainty" }
        return isNear ? 1 : missed.actual != nil ? 2 : 3
    }
}
