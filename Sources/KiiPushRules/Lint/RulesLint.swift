import KiiPush

extension RoutingRules {
    /// Finds statements of a rules file that have no effect: rules that match no message, writes that feed themselves,
    /// unregistered handlers, tests that check nothing.
    ///
    /// An error is proved: no message disproves it. Costs little more than parsing: ten thousand ordinary rules take
    /// some tenths of a second. Longer checks are skipped, and a finding says so.
    ///
    /// ```swift
    /// let findings = rules.lint(handlers: ["reload", "notify"])
    /// for finding in findings where finding.severity == .error { print(finding) }
    /// ```
    ///
    /// - Parameters:
    ///   - handlers: the names of the handlers that the program registers; nil if unknown.
    ///   - programProblem: why the program of a `run` action cannot be started on this machine, given by its path or
    ///     its name; nil if it can. By default, programs are not checked.
    /// - Returns: the findings, in order of position.
    public func lint(
        handlers: [String]? = nil, programProblem: ((String) -> String?)? = nil
    ) -> [RuleFinding] {
        var lint = RulesLint(self)
        lint.run(handlers)
        if let programProblem { lint.checkPrograms(programProblem) }
        func order(_ finding: RuleFinding) -> (SourcePosition, Int) {
            (finding.position, finding.severity == .warning ? 1 : 0)
        }
        return lint.findings.sorted { order($0) < order($1) }
    }
}

struct RulesLint {
    let rules: RoutingRules
    let profiles: [RuleProfile]
    var findings: [RuleFinding] = []
    /// The rules that never call their handler.
    var dead: Set<Int> = []
    /// The scopes that are served; nil for all.
    var served: ServedScopes?
    /// The device's own identities, by id.
    let me: [ExactText: [Sender]]

    init(_ rules: RoutingRules) {
        self.rules = rules
        profiles = rules.rules.map { RuleProfile($0.criteria) }
        served = rules.serving.map { ServedScopes($0) }
        me = Dictionary(grouping: Set(rules.me)) { ExactText($0.id) }
    }

    mutating func run(_ handlers: [String]?) {
        checkParameters()
        checkSettings()
        checkSettingIDs()
        for (number, rule) in rules.rules.enumerated() { checkConditions(rule, number) }
        if served?.isComplete == false { reportIncomplete("scopes") }
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

    // MARK: Programs

    /// Reports the programs that cannot be started on this machine.
    mutating func checkPrograms(_ problem: (String) -> String?) {
        for (number, rule) in rules.rules.enumerated() where !dead.contains(number) {
            guard case .run(let vector) = rule.action, let why = vector.first.flatMap(problem) else { continue }
            report(
                .unusableProgram, rule.actionPosition, rule.id, "the rule \(name(rule)) cannot run its program: \(why)")
        }
    }

    // MARK: Reporting

    mutating func report(
        _ code: RuleFinding.Code, _ position: SourcePosition, _ rule: String?, _ what: String,
        related: [RuleFinding.Related] = []
    ) {
        findings.append(
            RuleFinding(code: code, file: rules.file, position: position, what: what, rule: rule, related: related))
    }

    /// Reports one of a rule's conditions, or the rule if the file does not state the condition.
    mutating func report(_ code: RuleFinding.Code, _ rule: RoutingRule, at condition: String, _ what: String) {
        report(code, position(condition, of: rule), rule.id, what)
    }

    func position(_ condition: String, of rule: RoutingRule) -> SourcePosition {
        rule.conditions.first { condition == $0.name }?.position ?? rule.position
    }

    mutating func reportIncomplete(_ what: String) {
        report(
            .notAllCompared, .start, nil,
            "the file is too large to compare all \(what); split it, or give its rules exact buckets, topics and "
                + "owners")
    }

    /// A rule's id in quotes, shortened for one line.
    func name(_ rule: RoutingRule) -> String { "'\(Suggestion.shown(rule.id))'" }

    /// What a finding is about: a rule, or a part of its combined conditions.
    func subject(_ rule: RoutingRule) -> String {
        rule.part.map { "the condition '\($0)' of the rule \(name(rule))" } ?? "the rule \(name(rule))"
    }
}

extension SourcePosition {
    /// The start of the file, for findings about the whole file.
    static let start = SourcePosition(line: 1, column: 1)
}
