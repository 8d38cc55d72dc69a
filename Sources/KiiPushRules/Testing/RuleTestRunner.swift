import KiiPush

/// Runs a rules file's own tests, each through a real receiver of its own on a virtual clock.
///
/// ```swift
/// let runner = try RuleTestRunner(rules)
/// for test in rules.tests {
///     let result = await runner.run(test)
///     #expect(result.failures.isEmpty, "\(result.failures)")
/// }
/// ```
///
/// The receiver is the one that `PushReceiver(rules:)` makes, with nothing left out;
/// only the handlers, programs, printing and calls that the rules ask for are stand-ins. Tests may run at the same
/// time: the rules are compiled once, and everything else is each test's own.
public final class RuleTestRunner: Sendable {
    /// The rules whose tests it runs.
    public let rules: RoutingRules
    private let compiled: PushReceiver

    /// Compiles the rules.
    ///
    /// - Throws: `RulesError` when they cannot be loaded.
    public init(_ rules: RoutingRules) throws(RulesError) {
        self.rules = rules
        compiled = PushReceiver(rules: rules, clock: RuleTestClock())
        try compiled.loadStandIns(rules)
    }

    /// Runs one test.
    public func run(_ test: RuleTest) async -> RuleTestResult {
        var run = RuleTestRun(rules, test, routesOf: compiled, coverage: nil)
        return await run.result()
    }

    /// Runs one test, and counts what it covers.
    ///
    /// - Parameters:
    ///   - test: the test.
    ///   - coverage: counted on.
    /// - Returns: how it ended.
    public func run(_ test: RuleTest, counting coverage: inout RuleCoverage) async -> RuleTestResult {
        var counted = RuleCoverage()
        // Moved and not copied: two of them would make the first one who counts copy what ten thousand rules have.
        swap(&counted, &coverage)
        var run = RuleTestRun(rules, test, routesOf: compiled, coverage: consume counted)
        let result = await run.result()
        coverage = run.coverage ?? coverage
        return result
    }

    /// What is wrong with the file as a whole: it has no test.
    public var missingTests: RuleTestFailure? {
        guard rules.tests.isEmpty else { return nil }
        return RuleTestFailure(
            file: rules.file, position: SourcePosition(line: 1, column: 1), test: nil, step: nil, stepPosition: nil,
            key: nil, expected: nil, actual: nil,
            what: "the file has no tests; add a list 'tests' that shows what the rules do",
            stages: [], rules: [])
    }
}

/// How a test ended.
public struct RuleTestResult: Sendable {
    /// The test.
    public let test: RuleTest
    /// What went otherwise than expected, in order; none when the test passed.
    public let failures: [RuleTestFailure]
    /// What the rules would have done to Kii's cloud, in order; a test calls none.
    public let cloud: [Done]

    /// Something that a rule would have done to Kii's cloud.
    public struct Done: Sendable, Hashable {
        /// The number of the step, from 1; of a message that was held, that by which it was handled.
        public let step: Int
        /// What it is, with values of the message.
        public let action: CloudAction
    }

    /// Whether all was as expected.
    public var passed: Bool { failures.isEmpty }
}
