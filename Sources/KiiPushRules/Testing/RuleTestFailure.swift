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
    /// The expected value; nil without a key.
    public let expected: RuleTestValue?
    /// The actual value; nil without a key.
    public let actual: RuleTestValue?
    /// What is wrong, in words.
    public let what: String
    /// Each stage's verdict on the message, in order, as `stage: verdict`; empty if nothing was received.
    public let stages: [String]
    /// Each rule's verdict on the message, in order; empty if nothing was received or decoded.
    public let rules: [RuleVerdict]
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

/// A value that a test compares.
@nonexhaustive
public enum RuleTestValue: Sendable, Hashable, CustomStringConvertible {
    /// No value.
    case none
    /// A name.
    case text(String)
    /// Names, in order.
    case list([String])
    /// Values of JSON, in order.
    case values([DataValue])

    /// The value as the rules file writes it; `nothing` if there is none.
    public var description: String {
        guard self != .none else { return "nothing" }
        var writer = JSONWriter()
        write(to: &writer)
        return writer.text
    }

    /// Writes the value; null if there is none.
    package func write(to writer: inout JSONWriter) {
        switch self {
        case .none: writer.null()
        case .text(let text): writer.string(text)
        case .list(let texts):
            writer.array { writer in
                for text in texts { writer.string(text) }
            }
        case .values(let values): writer.value(.array(values))
        }
    }

    /// Whether two values are equal, byte for byte.
    public static func == (left: RuleTestValue, right: RuleTestValue) -> Bool {
        switch (left, right) {
        case (.none, .none): true
        case (.text(let left), .text(let right)): left.isExactly(right)
        case (.list(let left), .list(let right)): left.elementsEqual(right) { $0.isExactly($1) }
        case (.values(let left), .values(let right)): left == right
        default: false
        }
    }

    /// Hashes the value's bytes.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .none: hasher.combine(0)
        case .text(let text): hasher.combine(Array(text.utf8))
        case .list(let texts): hasher.combine(texts.map { Array($0.utf8) })
        case .values(let values): hasher.combine(values)
        }
    }
}

/// One rule's verdict on a message.
public struct RuleVerdict: Sendable {
    /// A verdict.
    public enum Answer: Sendable {
        /// All its conditions hold.
        case takes
        /// The first condition that does not hold.
        case misses(RouteCheck)
        /// An earlier rule took the message and stopped it.
        case notTried(after: String)
    }

    /// The rule's id.
    public let rule: String
    /// The position of the rule, or of the condition that does not hold.
    public let position: SourcePosition
    /// The verdict.
    public let answer: Answer

    /// The verdict with its position.
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
            guard let missed = rule.explain(message).first(where: { !$0.holds }) else {
                if rule.flow == .stop { taker = rule.id }
                return RuleVerdict(rule: rule.id, position: rule.position, answer: .takes)
            }
            let place = rule.place(missed.name, missed.key) ?? rule.position
            return RuleVerdict(rule: rule.id, position: place, answer: .misses(missed))
        }
    }
}
