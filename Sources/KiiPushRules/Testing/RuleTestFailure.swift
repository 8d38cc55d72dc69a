public import KiiPush

/// An unmet expectation of a rules file's test.
public struct RuleTestFailure: Error, Sendable {
    /// The file's name, as given when it was read.
    public let file: String
    /// The position of the expectation, or of the step or the test if that is wrong.
    public let position: SourcePosition
    /// The test's name; nil if the failure concerns the whole file.
    public let test: String?
    /// The step's number in the test, from 1; nil if no step is at fault.
    public let step: Int?
    /// Where the step begins.
    public let stepPosition: SourcePosition?
    /// The number of the row of the test's values, from 1; nil if it has none.
    public let row: Int?
    /// The key of `expect`; nil if something else is wrong.
    public let key: String?
    /// The expected value, as the rules file writes it; nil without a key.
    public let expected: DataValue?
    /// The actual value; nil without a key, or if there is none.
    public let actual: DataValue?
    /// What is wrong, in words.
    public let what: String
    /// Each stage's verdict on the message, in order, as `stage: verdict`; empty if nothing was received.
    public let stages: [String]
    /// Each rule's verdict on the message, in order; empty if nothing was received or decoded.
    package let rules: [RuleVerdict]
}

extension RuleTestFailure: CustomStringConvertible {
    /// `file:line:column: test 'NAME', step 2 (line 24): outcome: expected "duplicate", found "handled"`, on one line.
    public var description: String { "\(file):\(position): \(reason)" }

    /// The same without the place.
    public var reason: String {
        guard let test else { return what }
        let step = step.map { ", step \($0) (line \(stepPosition?.line ?? 0))" } ?? ""
        let row = row.map { ", row \($0)" } ?? ""
        return "test '\(test)'\(row)\(step): \(what)"
    }

    /// An explanation for people, in lines: the stages, then at most 40 rules.
    public var explanation: [String] {
        guard !stages.isEmpty else { return [] }
        var lines = stages.map { "stage \($0)" }
        // With ten thousand rules, nobody would read that many lines.
        let most = 40
        lines += rules.prefix(most).map { "rule \($0.description(in: file))" }
        if rules.count > most { lines.append("and \(counted(rules.count - most, "more rule"))") }
        return lines
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

    func description(in file: String) -> String {
        switch answer {
        case .takes: "'\(rule)' takes it (\(file):\(position))"
        case .notTried(let earlier): "'\(rule)' is not tried: '\(earlier)' took it"
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
    static func all(_ message: PushMessage, _ rules: [RoutingRule]) -> [RuleVerdict] {
        var taker: String?
        return rules.map { rule in
            if let taker { return RuleVerdict(rule: rule.id, position: rule.position, answer: .notTried(after: taker)) }
            guard let missed = rule.firstMiss(message) else {
                if rule.options.flow == .stop { taker = rule.id }
                return RuleVerdict(rule: rule.id, position: rule.position, answer: .takes)
            }
            let place = rule.places[RoutingRule.label(missed.name, missed.key)] ?? rule.position
            return RuleVerdict(rule: rule.id, position: place, answer: .misses(missed))
        }
    }
}
