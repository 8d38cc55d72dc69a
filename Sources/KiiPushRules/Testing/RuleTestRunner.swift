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
///
/// In rules with parameters, a test runs with each row of its table of values, and with the file's defaults for others;
/// only a parameter without both has the value of this device. So a test has the same result on every device. A secret
/// parameter keeps its placeholder.
public final class RuleTestRunner: Sendable {
    /// The rules whose tests it runs.
    public let rules: RoutingRules
    /// The rules with the values that tests run with, and a receiver that has loaded them.
    private let variants: [(rules: RoutingRules, compiled: PushReceiver)]

    /// Compiles the rules.
    ///
    /// - Parameters:
    ///   - rules: the rules.
    ///   - formats: the formats of other systems.
    /// - Throws: `RulesError` if they cannot be loaded.
    public init(_ rules: RoutingRules, formats: PayloadFormats = .shipped) throws(RulesError) {
        self.rules = rules
        var variants: [(rules: RoutingRules, compiled: PushReceiver)] = []
        for rules in rules.variants.isEmpty ? [rules] : rules.variants {
            let compiled = PushReceiver(rules: rules, formats: formats, clock: RuleTestClock())
            try compiled.loadStandIns(rules)
            variants.append((rules, compiled))
        }
        self.variants = variants
    }

    /// Runs one test, with each row of its values.
    public func run(_ test: RuleTest) async -> RuleTestResult {
        var none: RuleCoverage?
        return await run(test, counting: &none)
    }

    /// Runs one test, and counts its coverage.
    ///
    /// - Parameters:
    ///   - test: the test.
    ///   - coverage: where it is counted.
    /// - Returns: how it ended.
    public func run(_ test: RuleTest, counting coverage: inout RuleCoverage) async -> RuleTestResult {
        var moved = RuleCoverage()
        swap(&moved, &coverage)
        var counted: RuleCoverage? = consume moved
        let result = await run(test, counting: &counted)
        coverage = counted ?? coverage
        return result
    }

    /// Runs one test, and counts its coverage unless it is nil.
    package func run(_ test: RuleTest, counting coverage: inout RuleCoverage?) async -> RuleTestResult {
        var whole = RuleTestResult(test: test, failures: [], cloud: [])
        let (hasRows, isCounted) = (test.variants != nil, coverage != nil)
        for (number, variant) in (test.variants ?? [0]).enumerated() {
            let (rules, compiled) = variants[variant]
            var run = RuleTestRun(
                rules, test, row: test.params.isEmpty ? nil : number + 1, routesOf: compiled,
                // Moved, not copied: with two references, counting would copy the tallies of ten thousand rules.
                coverage: hasRows && isCounted ? RuleCoverage(rules) : coverage.take())
            whole.add(await run.result())
            if !hasRows { coverage = run.coverage } else if let counted = run.coverage { coverage?.add(counted) }
        }
        return whole
    }

    /// The failure of a file that has no tests.
    public var missingTests: RuleTestFailure? {
        guard rules.tests.isEmpty else { return nil }
        return RuleTestFailure(
            file: rules.file, position: SourcePosition(line: 1, column: 1), test: nil, step: nil, stepPosition: nil,
            row: nil, key: nil, expected: nil, actual: nil,
            what: "the file has no tests; add a list 'tests'",
            stages: [], rules: [])
    }
}

/// The result of a test.
public struct RuleTestResult: Sendable {
    /// The test.
    public let test: RuleTest
    /// The failures, in order; empty if the test passed.
    public private(set) var failures: [RuleTestFailure]
    /// The rules' cloud actions that were simulated, in order; a test calls no cloud.
    public private(set) var cloud: [Done]

    /// A simulated cloud action.
    public struct Done: Sendable, Hashable {
        /// The number of the step, from 1; for a message that had to wait, the step in which it was handled.
        public let step: Int
        /// The number of the row of the test's values, from 1; nil if it has none.
        public let row: Int?
        /// The action, with values of the message.
        public let action: CloudAction
    }

    /// Adds what a further row had as its result.
    mutating func add(_ other: RuleTestResult) {
        failures += other.failures
        cloud += other.cloud
    }

    /// Whether all expectations were met.
    public var passed: Bool { failures.isEmpty }
}
