/// The options of `kiipush rules test`.
struct RulesTestOptions {
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
            "tells what the tests have shown of the rules: each rule taken, each condition held and missed when it "
                + "was the one that decided"
        ) { $0.wantsCoverage = true },
        .value("--fail-under", "N", "fails a file of whose points fewer than N percent are covered", as: percent) {
            $0.failUnder = $1
        },
        .flag("--cloud", "shows what the rules would write to Kii's cloud and send; a test calls nobody") {
            $0.showsCloud = true
        },
        .value("--junit", "FILE", "writes the results as JUnit XML, for CI systems", completes: .file) {
            $0.junit = $1
        },
        .format("text for people (the default), or json: one object a line") { $0.format = $1 },
        .value("--filter", "NAME", "runs only the tests of this name; * stands for any run of characters") {
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
                "Each test runs through a receiver of its own, set up as the file says, on a clock that only the test "
                    + "turns. Handlers, programs, printing and calls of Kii's cloud are stand-ins that succeed, or "
                    + "fail where a step says so. A file that has no tests fails. '-' is standard input.")
        ],
        options: RulesTestOptions.table.texts, operands: .file,
        notes: [
            .text(
                "What fails is reported on standard error as FILE:LINE:COLUMN: WHAT; why, stage by stage and rule by "
                    + "rule, on standard output.")
        ],
        exits: [
            (.fine, "all tests passed"),
            (.failed, "a test failed, a file could not be read, or too little is covered"),
        ],
        action: { arguments, console in await run(arguments, console) })
}
