import KiiPush
import KiiPushAgent
import KiiPushRules
import KiiPushSystem
import KiiPushTesting

struct RulesTestCommand: CommandWithOptions, ReadsRules {
    var params = ParameterOptions()
    var wantsCoverage = false
    var failUnder: Double?
    var junit: String?
    var showsCloud = false
    var format = ReportFormat.text
    var filter: String?
    var files: [String] = []

    /// Whether coverage is printed, or required by a limit.
    var measuresCoverage: Bool { wantsCoverage || failUnder != nil }

    static let table = OptionTable<RulesTestCommand>([
        .flag(
            "--coverage",
            "reports which parts of the rules the tests cover: each rule matched, and each condition both met and not "
                + "met where it decides"
        ) { $0.wantsCoverage = true },
        .value("--fail-under", "N", "fails if coverage is below N percent", as: percent) {
            $0.failUnder = $1
        },
        .flag("--cloud", "shows what the rules would write to Kii's cloud and send; tests make no calls") {
            $0.showsCloud = true
        },
        .value("--junit", "FILE", "writes the results as JUnit XML, for CI systems", completes: .file) {
            $0.junit = $1
        },
        .params, .param,
        .format("text for people (the default), or json: one object a line") { $0.format = $1 },
        .value("--filter", "NAME", "runs only tests with this name; * matches any characters") {
            $0.filter = $1
        },
    ])

    mutating func check(_ operands: [String]) throws(Arguments.Mistake) {
        if operands.isEmpty { throw Arguments.Mistake(text: "expected a rules file") }
        files = operands
        try Arguments.checkStandardInput(operands)
        if junit == "-" { throw Arguments.Mistake(text: "--junit takes a file: standard output has the results") }
        try OutputKind(name: "file of test results", start: JUnitReport.start).check("--junit", junit)
    }

    func run(_ console: Console) async -> ExitCode {
        var run = RulesTestRun(self, console)
        for file in files { await run.test(file: file) }
        return run.finish()
    }

    static let description = Command(
        name: "rules test", summary: "runs the tests that are in rules files",
        usage: ["[OPTION…] FILE…"],
        about: [
            "Each test runs in its own receiver, configured by the file, on a clock that only the test advances. "
                + "Handlers, programs, printing and calls to Kii's cloud are replaced by stubs that succeed, or "
                + "fail where a step says so. A file without tests fails. '-' is standard input."
        ],
        operands: .file,
        notes: [
            "Failures are reported on standard error as FILE:LINE:COLUMN: MESSAGE, and explained on standard "
                + "output, by middleware and rule."
        ],
        exits: [
            (.fine, "all tests passed"),
            (.failed, "a test failed, a file could not be read, or coverage is too low"),
        ])

    private static let percent: @Sendable (String, String) throws(Arguments.Mistake) -> Double = {
        option, text throws(Arguments.Mistake) in
        let digits = text.hasSuffix("%") ? String(text.dropLast()) : text
        guard let number = Double(digits), (0...100).contains(number) else {
            throw Arguments.Mistake(text: "\(option) takes a number from 0 to 100, not '\(escaped(text))'")
        }
        return number
    }
}

private struct RulesTestRun {
    private let options: RulesTestCommand
    private let console: Console
    private let isWanted: TextPattern
    private var code = ExitCode.fine
    private var sums = RulesTestSums()
    private var junit = JUnitReport()

    init(_ options: RulesTestCommand, _ console: Console) {
        self.options = options
        self.console = console
        isWanted = options.filter.map { TextPattern($0) } ?? .any
    }

    mutating func test(file: String) async {
        sums.files += 1
        do {
            let rules = try RulesFile.read(file, options.params)
            await test(rules, try RuleTestRunner(rules))
        } catch {
            RulesFile.report(error, console)
            refuse(file, RulesFile.problems(of: error, in: file))
        }
    }

    private mutating func refuse(_ file: String, _ problems: [RulesError.Problem]) {
        sums.unreadable += 1
        code = max(code, .failed)
        if options.format == .json { console.print(RulesTestJSON.line(file: file, problems)) }
        junit.add(JUnitReport.Suite(file: file, problems))
    }

    private mutating func test(_ rules: RoutingRules, _ runner: RuleTestRunner) async {
        let clock = ContinuousClock()
        let start = clock.now
        var suite = JUnitReport.Suite(file: rules.file)
        var coverage = options.measuresCoverage ? RuleCoverage(rules) : nil
        var fileSums = RulesTestSums()
        let tests = rules.tests.filter { isWanted.matches($0.name) }
        if let missing = runner.missingTests { fail(missing, &suite) }
        var progress = Progress(rules.file, tests.count, console)
        for test in tests {
            let began = clock.now
            let result = await runner.run(test, counting: &coverage)
            fileSums.add(result)
            suite.add(result, began.duration(to: clock.now))
            if !result.passed || options.showsCloud && !result.cloud.isEmpty { progress.clear() }
            tell(result, in: rules.file)
            progress.step()
        }
        progress.clear()
        suite.duration = start.duration(to: clock.now)
        junit.add(suite)
        sums.add(fileSums)
        if options.format == .text {
            let noMatch = options.filter.flatMap { filter in
                tests.isEmpty && !rules.tests.isEmpty
                    ? "no test matches '\(escaped(filter))', so none of \(rules.tests.count) ran" : nil
            }
            let sum = noMatch.map { console.ink($0, .warning) } ?? fileSums.text(console.ink)
            console.print("\(escaped(rules.file)): \(sum)")
        }
        if let coverage { tell(coverage, of: rules) }
    }

    // MARK: Reporting

    private mutating func fail(_ failure: RuleTestFailure, _ suite: inout JUnitReport.Suite) {
        sums.unreadable += 1
        code = max(code, .failed)
        console.error(console.errorInk.located(escaped(failure.description)))
        suite.add(failure)
        guard options.format == .json else { return }
        let problem = RulesError.Problem(file: failure.file, position: failure.position, what: failure.what)
        console.print(RulesTestJSON.line(file: failure.file, [problem]))
    }

    private mutating func tell(_ result: RuleTestResult, in file: String) {
        if options.format == .json { console.print(RulesTestJSON.line(result, in: file)) }
        if options.format == .text, options.showsCloud {
            for done in result.cloud {
                console.print(
                    escaped(
                        "\(file): '\(result.test.name)', \(done.row.map { "row \($0), " } ?? "")step \(done.step) would do \(done.action)"
                    ))
            }
        }
        guard !result.passed else { return }
        code = max(code, .failed)
        for (number, failure) in result.failures.enumerated() {
            console.error(console.errorInk.located(escaped(failure.description)))
            let isLastOfStep =
                number + 1 == result.failures.count || result.failures[number + 1].step != failure.step
                || result.failures[number + 1].row != failure.row
            guard options.format == .text, isLastOfStep, !failure.explanation.isEmpty else { continue }
            console.print(
                "  '\(escaped(result.test.name))'\(failure.row.map { ", row \($0)" } ?? ""), step \(failure.step ?? 0), went like this:"
            )
            for line in failure.explanation { console.print("    \(escaped(line))") }
        }
    }

    private mutating func tell(_ coverage: RuleCoverage, of rules: RoutingRules) {
        let uncovered = coverage.uncovered
        switch options.format {
        case .json: console.print(RulesTestJSON.line(coverage, uncovered, in: rules.file))
        case .text:
            for line in RulesTestText.lines(coverage, uncovered, in: rules.file) { console.print(escaped(line)) }
        }
        guard let wanted = options.failUnder, !coverage.reaches(percent: wanted) else { return }
        code = max(code, .failed)
        console.error(
            "\(escaped(rules.file)):1:1: the tests cover \(RulesTestText.percent(coverage)), and "
                + "\(RulesTestText.number(wanted))% are required")
    }

    mutating func finish() -> ExitCode {
        if let filter = options.filter, sums.tests == 0, sums.unreadable < sums.files {
            console.error("kiipush rules test: no test matches '\(escaped(filter))', so nothing ran")
            code = max(code, .failed)
        }
        switch options.format {
        case .json: console.print(RulesTestJSON.line(sums))
        case .text where sums.files > 1: console.print("\(sums.files) files: \(sums.text(console.ink))")
        case .text: break
        }
        if let path = options.junit {
            do throws(ErrorNumber) {
                try replaceFile(path, with: junit.text, mode: 0o644, isDurable: false, waits: true)
            } catch {
                console.error("\(escaped(path)): cannot be written: \(error)")
                code = max(code, .failed)
            }
        }
        return code
    }
}

struct RulesTestSums {
    var files = 0
    var unreadable = 0
    var tests = 0
    var failed = 0

    mutating func add(_ result: RuleTestResult) {
        tests += 1
        if !result.passed { failed += 1 }
    }

    mutating func add(_ other: RulesTestSums) {
        tests += other.tests
        failed += other.failed
    }

    func text(_ ink: Ink) -> String {
        let count = counted(tests, "test")
        let refused = unreadable == 0 ? "" : ink(", \(unreadable) of the files cannot be tested", .bad)
        return (failed == 0 ? ink("\(count) passed", .good) : "\(count), \(ink("\(failed) failed", .bad))") + refused
    }
}
