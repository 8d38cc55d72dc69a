/// What `kiipush rules test` was asked for.
struct RulesTestOptions {
    enum Format {
        case text
        case json
    }

    var wantsCoverage = false
    /// The least share of the points, in percent.
    var failUnder: Double?
    var junit: String?
    var format = Format.text
    var filter: String?
    var wantsHelp = false
    var files: [String] = []

    init(_ arguments: [String]) throws(Arguments.Mistake) {
        var arguments = Arguments(arguments)
        while let option = try arguments.nextOption() {
            switch option {
            case "--coverage": wantsCoverage = true
            case "--fail-under": failUnder = try Self.percent(try arguments.value(of: option))
            case "--junit": junit = try arguments.value(of: option)
            case "--format": format = try arguments.value(of: option, among: [("text", .text), ("json", .json)])
            case "--filter": filter = try arguments.value(of: option)
            case "--help", "-h": wantsHelp = true
            default:
                throw Arguments.Mistake(
                    unknown: option, known: ["--coverage", "--fail-under", "--junit", "--format", "--filter"])
            }
        }
        files = arguments.operands
        if files.isEmpty, !wantsHelp { throw Arguments.Mistake(text: "it needs a rules file") }
    }

    private static func percent(_ text: String) throws(Arguments.Mistake) -> Double {
        let digits = text.hasSuffix("%") ? String(text.dropLast()) : text
        guard let number = Double(digits), (0...100).contains(number) else {
            throw Arguments.Mistake(text: "--fail-under takes a number from 0 to 100, not '\(escaped(text))'")
        }
        return number
    }

    static let help = """
        kiipush rules test: runs the tests that are in rules files

        usage: kiipush rules test [OPTION…] FILE…

        Each test runs through a receiver of its own, set up as the file says, on a clock that
        only the test turns. Handlers, programs and printing are stand-ins that succeed, or
        fail where a step says so. A file that has no tests fails. '-' is standard input.

          --coverage         tells what the tests have shown of the rules: each rule taken, each
                             condition held and missed when it was the one that decided
          --fail-under N     fails a file of whose points fewer than N percent are covered
          --junit FILE       writes the results as JUnit XML, for CI systems
          --format FORMAT    text for people (the default), or json: one object a line
          --filter NAME      runs only the tests of this name; * stands for any run of characters
          --help             shows this

        What fails is reported on standard error as FILE:LINE:COLUMN: WHAT; why, stage by stage
        and rule by rule, on standard output. Exit codes: 0 fine; 1 a test failed, a file could
        not be read, or too little is covered; 64 wrong usage.
        """
}
