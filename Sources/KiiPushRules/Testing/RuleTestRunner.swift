public import KiiPush

/// Runs the tests of a rules file, each through its own real receiver on a virtual clock.
///
/// ```swift
/// let runner = try RuleTestRunner(rules)
/// for test in rules.tests {
///     let result = await runner.run(test)
///     #expect(result.failures.isEmpty, "\(result.failures)")
/// }
/// ```
///
/// The receiver is complete, as `PushReceiver(rules:)` makes it; only handlers, programs, printing and cloud calls are
/// stand-ins. Tests may run at the same time: the rules are compiled once, and each test has its own state.
public final class RuleTestRunner: Sendable {
    /// The rules whose tests it runs.
    public let rules: RoutingRules
    private let compiled: PushReceiver

    /// Compiles the rules.
    ///
    /// - Parameters:
    ///   - rules: the rules.
    ///   - formats: the formats of other systems.
    /// - Throws: `RulesError` if they cannot be loaded.
    public init(_ rules: RoutingRules, formats: PayloadFormats = .shipped) throws(RulesError) {
        self.rules = rules
        compiled = PushReceiver(rules: rules, formats: formats, clock: RuleTestClock())
        try compiled.loadStandIns(rules)
    }

    /// Runs one test.
    public func run(_ test: RuleTest) async -> RuleTestResult {
        var run = RuleTestRun(rules, test, routesOf: compiled, coverage: nil)
        return await run.result()
    }

    /// Runs one test, and counts its coverage.
    ///
    /// - Parameters:
    ///   - test: the test.
    ///   - coverage: where it is counted.
    /// - Returns: how it ended.
    public func run(_ test: RuleTest, counting coverage: inout RuleCoverage) async -> RuleTestResult {
        var counted = RuleCoverage()
        // Moved, not copied: with two references, counting would copy the tallies of ten thousand rules.
        swap(&counted, &coverage)
        var run = RuleTestRun(rules, test, routesOf: compiled, coverage: consume counted)
        let result = await run.result()
        coverage = run.coverage ?? coverage
        return result
    }

    /// The failure of a file that has no tests.
    public var missingTests: RuleTestFailure? {
        guard rules.tests.isEmpty else { return nil }
        return RuleTestFailure(
            file: rules.file, position: SourcePosition(line: 1, column: 1), test: nil, step: nil, stepPosition: nil,
            key: nil, expected: nil, actual: nil,
            what: "the file has no tests; add a list 'tests'",
            stages: [], rules: [])
    }
}

/// The result of a test.
public struct RuleTestResult: Sendable {
    /// The test.
    public let test: RuleTest
    /// The failures, in order; empty if the test passed.
    public let failures: [RuleTestFailure]
    /// The rules' cloud actions that were simulated, in order; a test calls no cloud.
    public let cloud: [Done]

    /// A simulated cloud action.
    public struct Done: Sendable, Hashable {
        /// The number of the step, from 1; for a message that had to wait, the step in which it was handled.
        public let step: Int
        /// The action, with values of the message.
        public let action: CloudAction
    }

    /// Whether all expectations were met.
    public var passed: Bool { failures.isEmpty }
}
