import KiiPushAgent

struct RulesTestOptions: ReadsRules {
    var params = ParameterOptions()
    var wantsCoverage = false
    /// The least required coverage, in percent.
    var failUnder: Double?
    var junit: String?
    /// Whether to show the rules' cloud actions.
    var showsCloud = false
    var format = ReportFormat.text
    var filter: String?
    var files: [String] = []

    static let table = OptionTable<RulesTestOptions>([
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

    private static let percent: @Sendable (String, String) throws(Arguments.Mistake) -> Double = {
        option, text throws(Arguments.Mistake) in
        let digits = text.hasSuffix("%") ? String(text.dropLast()) : text
        guard let number = Double(digits), (0...100).contains(number) else {
            throw Arguments.Mistake(text: "\(option) takes a number from 0 to 100, not '\(escaped(text))'")
        }
        return number
    }
}

extension RulesTestCommand {
    static let command = Command(
        name: "rules test", summary: "runs the tests that are in rules files",
        usage: ["[OPTION…] FILE…"],
        about: [
            .text(
                "Each test runs in its own receiver, configured by the file, on a clock that only the test advances. "
                    + "Handlers, programs, printing and calls to Kii's cloud are replaced by stubs that succeed, or "
                    + "fail where a step says so. A file without tests fails. '-' is standard input.")
        ],
        options: RulesTestOptions.table.texts, operands: .file,
        notes: [
            .text(
                "Failures are reported on standard error as FILE:LINE:COLUMN: MESSAGE, and explained on standard "
                    + "output, by middleware and rule.")
        ],
        exits: [
            (.fine, "all tests passed"),
            (.failed, "a test failed, a file could not be read, or coverage is too low"),
        ],
        action: { arguments, console in await run(arguments, console) })
}
