public import KiiPush
public import KiiPushRules
import KiiPushSystem

/// The tests of a rules file as arguments of a Swift Testing test: one case each, with its name and position.
///
/// ```swift
/// @Test("the rules do what their tests say", arguments: try RuleSuite(contentsOf: "Rules/settings.json"))
/// func rules(_ test: RuleCase) async throws { try await test.run() }
/// ```
///
/// The same file is then tested by `swift test` and by `kiipush rules test`.
public struct RuleSuite: Sendable, RandomAccessCollection {
    private let cases: [RuleCase]

    /// The rules of the file.
    public let rules: RoutingRules

    /// Uses the tests of rules that are already parsed.
    ///
    /// - Throws: `RulesError` if they cannot be loaded; another error if there is no test, since an empty suite would
    ///   pass.
    package init(_ rules: RoutingRules, formats: PayloadFormats = .shipped) throws {
        self.rules = rules
        let runner = try RuleTestRunner(rules, formats: formats)
        if let failure = runner.missingTests { throw failure }
        cases = rules.tests.map { RuleCase(test: $0, runner: runner) }
    }

    /// Reads a rules file and uses its tests.
    ///
    /// A relative path starts at the folder of the source file that makes the suite, since the working directory of a
    /// test varies. `params` are the values of parameters for which the file has no default and a test no row.
    ///
    /// - Throws: `ReadError` if the file cannot be read; `RulesError` with every problem of it; another error if
    ///   there is no test.
    public init(
        contentsOf path: String, params: ParameterValues = [:], formats: PayloadFormats = .shipped,
        from source: String = #filePath
    ) throws {
        let folder = source.prefix(through: source.lastIndex(of: "/") ?? source.startIndex)
        let file = path.hasPrefix("/") ? path : folder + path
        let bytes = try ByteReader(path: file).readAll(limit: RoutingRules.mostBytes)
        try self.init(RoutingRules(bytes, file: EscapedText(file).description, params: params), formats: formats)
    }

    /// The first index, 0.
    public var startIndex: Int { 0 }
    /// The number of tests.
    public var endIndex: Int { cases.count }
    /// The test at `position`, in the order of the file.
    public subscript(position: Int) -> RuleCase { cases[position] }
}

/// One test of a rules file, to be run by your own test.
public struct RuleCase: Sendable, Identifiable, CustomStringConvertible {
    /// The test.
    package let test: RuleTest
    private let runner: RuleTestRunner

    init(test: RuleTest, runner: RuleTestRunner) {
        self.test = test
        self.runner = runner
    }

    /// The test's name and position: `a repeated update is dropped (rules.json:21)`.
    public var description: String { "\(test.name) (\(runner.rules.file):\(test.position.line))" }

    /// The position and the name, which identify a single case for a rerun.
    public var id: String { "\(runner.rules.file):\(test.position) \(test.name)" }

    /// Runs the test with its own receiver.
    ///
    /// - Throws: ``RuleCaseFailed`` with every unmet expectation.
    public func run() async throws {
        let result = await runner.run(test)
        if !result.passed { throw RuleCaseFailed(failures: result.failures) }
    }
}

/// A test of a rules file failed.
public struct RuleCaseFailed: Error, Sendable, CustomStringConvertible {
    /// The unmet expectations, in order; at least one.
    package let failures: [RuleTestFailure]

    /// Reports failures from `RuleTestResult.failures`.
    package init(failures: [RuleTestFailure]) { self.failures = failures }

    /// Each failure on a line, with its explanation below.
    public var description: String {
        var lines: [String] = []
        for (number, failure) in failures.enumerated() {
            lines.append(failure.description)
            // All expectations of a step share its explanation.
            let isLastOfStep =
                number + 1 == failures.count || failures[number + 1].step != failure.step
                || failures[number + 1].row != failure.row
            if isLastOfStep { lines += failure.explanation.map { "    \($0)" } }
        }
        return lines.joined(separator: "\n")
    }
}
