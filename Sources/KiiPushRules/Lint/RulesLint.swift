import KiiPush

extension RoutingRules {
    /// Finds what a rules file says and cannot mean: rules that take no message, writes that feed themselves, handlers
    /// that nobody registers, tests that cannot pass.
    ///
    /// An error is proved: no message disproves it. Costs little more than reading the file: ten thousand ordinary
    /// rules take some tenths of a second; what would take longer is left out, and said to be.
    ///
    /// ```swift
    /// let findings = rules.lint(handlers: ["reload", "notify"])
    /// for finding in findings where finding.severity == .error { print(finding) }
    /// ```
    ///
    /// - Parameter handlers: the names of the handlers that the program registers; nil when they are not known.
    /// - Returns: the findings, by their places in the file.
    public func lint(handlers: [String]? = nil) -> [RuleFinding] {
        var lint = RulesLint(self)
        lint.run(handlers)
        return lint.findings.sorted { left, right in
            (left.position, left.severity == .warning ? 1 : 0) < (right.position, right.severity == .warning ? 1 : 0)
        }
    }
}

/// One look over a rules file.
struct RulesLint {
    let rules: RoutingRules
    let profiles: [RuleProfile]
    private(set) var findings: [RuleFinding] = []
    /// The rules that never call their handler.
    var dead: Set<Int> = []
    /// Those of them that are never even the match.
    var unmatched: Set<Int> = []
    /// The rules of which it was said that they feed themselves.
    var reportedSelf: Set<Int> = []

    init(_ rules: RoutingRules) {
        self.rules = rules
        profiles = rules.rules.map { RuleProfile($0.criteria) }
    }

    mutating func run(_ handlers: [String]?) {
        checkSettings()
        for (number, rule) in rules.rules.enumerated() { checkConditions(rule, number) }
        checkShadows()
        checkDedupe()
        let feeds = RuleFeeds(rules, profiles)
        checkCycles(feeds)
        if !feeds.isComplete { reportIncomplete("writes with the rules that they may feed") }
        checkCloud()
        checkAges()
        checkHandlers(handlers)
        checkTests()
    }

    // MARK: Reporting

    mutating func report(
        _ code: RuleFinding.Code, _ position: SourcePosition, _ rule: String?, _ what: String,
        related: [RuleFinding.Related] = []
    ) {
        findings.append(
            RuleFinding(
                code: code, file: rules.file, position: position, what: what,
                rule: rule, related: related))
    }

    mutating func reportIncomplete(_ what: String) {
        report(
            .notAllCompared, .start, nil,
            "the file is too large to compare all \(what); split it, or give its rules exact buckets or topics")
    }

    /// A rule's id in quotes, fit for a line.
    func name(_ rule: RoutingRule) -> String { "'\(Suggestion.shown(rule.id))'" }

    /// Where a condition of a rule stands; the rule's place when the file does not have it.
    func position(_ condition: String, _ key: String? = nil, of rule: RoutingRule) -> SourcePosition {
        rule.conditions.first { condition == $0.name && (key == nil || $0.key?.isExactly(key ?? "") == true) }?.position
            ?? rule.position
    }
}

extension SourcePosition {
    /// The first place of a file, for what is said of all of it.
    static let start = SourcePosition(line: 1, column: 1)
}
