import KiiPush
public import KiiPushRules
import KiiPushLinux

/// A rules file's own tests as arguments of a Swift Testing test: one case each, with its name and place.
///
/// ```swift
/// @Test("the rules do what their tests say", arguments: try RuleSuite(contentsOf: "Rules/settings.json"))
/// func rules(_ test: RuleCase) async throws { try await test.run() }
/// ```
///
/// So the same file is tested by `swift test` and by `kiipush rules test`.
public struct RuleSuite: Sendable, RandomAccessCollection {
    private let cases: [RuleCase]

    /// What the file says.
    public let rules: RoutingRules

    /// Takes the tests of rules that were read before.
    ///
    /// - Parameter rules: the rules.
    /// - Throws: `RulesError` when they cannot be loaded; `RuleTestFailure` when there is no test, since a suite of
    ///   none would pass.
    public init(_ rules: RoutingRules) throws {
        self.rules = rules
        let runner = try RuleTestRunner(rules)
        if let failure = runner.missingTests { throw failure }
        cases = rules.tests.map { RuleCase(test: $0, runner: runner) }
    }

    /// Takes the tests of a rules file's text.
    ///
    /// - Parameters:
    ///   - text: the text.
    ///   - file: what errors call it.
    /// - Throws: `RulesError` with everything that is wrong; `RuleTestFailure` when there is no test.
    public init(text: String, file: String = "rules.json") throws {
        try self.init(RoutingRules(text, file: file))
    }

    /// Takes the tests of a rules file.
    ///
    /// - Parameters:
    ///   - path: the file; a relative path counts from the folder of the source file that makes the suite, since the
    ///     working directory of a test is anybody's guess.
    ///   - source: that source file; leave it out.
    /// - Throws: `ReadError` when the file cannot be read; `RulesError` with everything that is wrong in it;
    ///   `RuleTestFailure` when there is no test.
    public init(contentsOf path: String, from source: String = #filePath) throws {
        let folder = source.prefix(through: source.lastIndex(of: "/") ?? source.startIndex)
        try self.init(RoutingRules(contentsOf: path.hasPrefix("/") ? path : folder + path))
    }

    /// The first index, 0.
    public var startIndex: Int { 0 }
    /// The number of tests.
    public var endIndex: Int { cases.count }
    /// The test at `position`, in the order of the file.
    public subscript(position: Int) -> RuleCase { cases[position] }
}

/// One test of a rules file, to be run by a test of yours.
public struct RuleCase: Sendable, Identifiable, CustomStringConvertible {
    /// The test.
    public let test: RuleTest
    private let runner: RuleTestRunner

    init(test: RuleTest, runner: RuleTestRunner) {
        self.test = test
        self.runner = runner
    }

    /// The test's name and its place: `a repeated update is dropped (rules.json:21)`.
    public var description: String { "\(test.name) (\(runner.rules.file):\(test.position.line))" }

    /// The place and the name, for whoever runs single cases again.
    public var id: String { "\(runner.rules.file):\(test.position) \(test.name)" }

    /// Runs the test through a receiver of its own.
    ///
    /// - Throws: ``RuleCaseFailed`` with everything that was not as expected.
    public func run() async throws {
        let result = await runner.run(test)
        if !result.passed { throw RuleCaseFailed(failures: result.failures) }
    }
}

/// A test of a rules file failed.
public struct RuleCaseFailed: Error, Sendable, CustomStringConvertible {
    /// What was not as expected, in order; at least one.
    public let failures: [RuleTestFailure]

    /// Reports failures, as `RuleTestResult.failures` has them.
    public init(failures: [RuleTestFailure]) { self.failures = failures }

    /// Each failure on a line, and why below it.
    public var description: String {
        var lines: [String] = []
        for (number, failure) in failures.enumerated() {
            lines.append(failure.description)
            // What one step did is the same for all that was expected of it.
            let isLastOfStep = number + 1 == failures.count || failures[number + 1].step != failure.step
            if isLastOfStep { lines += failure.explanation.map { "    \($0)" } }
        }
        return lines.joined(separator: "\n")
    }
}
