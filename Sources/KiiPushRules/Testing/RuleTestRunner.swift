package import KiiPush

/// Runs the tests of a rules file, each through its own real receiver on a virtual clock.
///
/// The receiver is complete, as `PushReceiver(rules:)` makes it; only handlers, programs, printing and cloud calls are
/// stand-ins. Tests may run at the same time: the rules are compiled once, and each test has its own state.
///
/// In rules with parameters, a test runs with each row of its table of values, and with the file's defaults for others;
/// only a parameter without both has the value of this device. So a test has the same result on every device. A secret
/// parameter keeps its placeholder.
package final class RuleTestRunner: Sendable {
    /// The rules whose tests it runs.
    package let rules: RoutingRules
    /// The rules with the values that tests run with, and a receiver that has loaded them.
    private let variants: [(rules: RoutingRules, compiled: PushReceiver)]

    /// Compiles the rules.
    ///
    /// - Parameters:
    ///   - rules: the rules.
    ///   - formats: the formats of other systems.
    /// - Throws: `RulesError` if they cannot be loaded.
    package init(_ rules: RoutingRules, formats: PayloadFormats = .shipped) throws(RulesError) {
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
    package func run(_ test: RuleTest) async -> RuleTestResult {
        var none: RuleCoverage?
        return await run(test, counting: &none)
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
    package var missingTests: RuleTestFailure? {
        guard rules.tests.isEmpty else { return nil }
        return RuleTestFailure(
            file: rules.file, position: SourcePosition(line: 1, column: 1), test: nil, step: nil, stepPosition: nil,
            row: nil, key: nil, expected: nil, actual: nil,
            what: "the file has no tests; add a list 'tests'",
            stages: [], rules: [])
    }
}

/// The result of a test.
package struct RuleTestResult: Sendable {
    /// The test.
    package let test: RuleTest
    /// The failures, in order; empty if the test passed.
    package private(set) var failures: [RuleTestFailure]
    /// The rules' cloud actions that were simulated, in order; a test calls no cloud.
    package private(set) var cloud: [Done]

    /// A simulated cloud action.
    package struct Done: Sendable, Hashable {
        /// The number of the step, from 1; for a message that had to wait, the step in which it was handled.
        package let step: Int
        /// The number of the row of the test's values, from 1; nil if it has none.
        package let row: Int?
        /// The action, with values of the message.
        package let action: CloudAction
    }

    /// Adds what a further row had as its result.
    mutating func add(_ other: RuleTestResult) {
        failures += other.failures
        cloud += other.cloud
    }

    /// Whether all expectations were met.
    package var passed: Bool { failures.isEmpty }
}
