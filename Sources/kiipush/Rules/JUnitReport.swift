import KiiPushAgent
import KiiPush
import KiiPushRules
import KiiPushTesting

/// The results of rules files as JUnit XML for CI systems: a suite per file, a case per test.
struct JUnitReport {
    private enum Fault: String {
        case failure
        case error
    }

    private struct Case {
        let name: String
        let line: Int
        let duration: Duration
        var fault: (kind: Fault, message: String, text: String)?
    }

    struct Suite {
        private let file: String
        private var cases: [Case] = []
        var duration = Duration.zero

        init(file: String) { self.file = file }

        init(file: String, _ problems: [RulesError.Problem]) {
            self.init(file: file)
            let message = problems.first.map { "\($0)" } ?? "it cannot be read"
            let text = problems.map(\.description).joined(separator: "\n")
            cases.append(Case(name: "the file can be read", line: 1, duration: .zero, fault: (.error, message, text)))
        }

        mutating func add(_ failure: RuleTestFailure) {
            cases.append(
                Case(
                    name: "the file has tests", line: failure.position.line, duration: .zero,
                    fault: (.failure, failure.what, failure.description)))
        }

        mutating func add(_ result: RuleTestResult, _ duration: Duration) {
            var testCase = Case(name: result.test.name, line: result.test.position.line, duration: duration)
            if let first = result.failures.first {
                testCase.fault = (.failure, first.reason, RuleCaseFailed(failures: result.failures).description)
            }
            cases.append(testCase)
        }

        fileprivate var tests: Int { cases.count }
        fileprivate var failures: Int { cases.count { $0.fault?.kind == .failure } }
        fileprivate var errors: Int { cases.count { $0.fault?.kind == .error } }

        fileprivate var lines: [String] {
            let file = JUnitReport.escaped(file)
            let counts = JUnitReport.counts(tests, failures, errors, duration)
            let elements = cases.flatMap { test -> [String] in
                let start =
                    "    <testcase name=\"\(JUnitReport.escaped(test.name))\" classname=\"\(file)\" file=\"\(file)\" "
                    + "line=\"\(test.line)\" time=\"\(JUnitReport.seconds(test.duration))\""
                guard let fault = test.fault else { return [start + "/>"] }
                let (kind, message) = (fault.kind.rawValue, JUnitReport.escaped(fault.message))
                let text = JUnitReport.escaped(fault.text, isElement: true)
                return [start + ">", "      <\(kind) message=\"\(message)\">\(text)</\(kind)>", "    </testcase>"]
            }
            return ["  <testsuite name=\"\(file)\" \(counts)>"] + elements + ["  </testsuite>"]
        }
    }

    private var suites: [Suite] = []

    mutating func add(_ suite: Suite) { suites.append(suite) }

    static let start = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"kiipush rules test\""

    var text: String {
        func sum(_ number: (Suite) -> Int) -> Int { suites.reduce(0) { $0 + number($1) } }
        let duration = suites.reduce(Duration.zero) { $0 + $1.duration }
        let counts = Self.counts(sum(\.tests), sum(\.failures), sum(\.errors), duration)
        let lines = ["\(Self.start) \(counts)>"] + suites.flatMap(\.lines) + ["</testsuites>"]
        return lines.joined(separator: "\n") + "\n"
    }

    private static func counts(_ tests: Int, _ failures: Int, _ errors: Int, _ duration: Duration) -> String {
        "tests=\"\(tests)\" failures=\"\(failures)\" errors=\"\(errors)\" skipped=\"0\" time=\"\(seconds(duration))\""
    }

    private static func seconds(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        return "\(seconds).\((attoseconds / 1_000_000_000_000).digits(6))"
    }

    /// A text for an attribute, or for an element, in which line feeds and tabs stay unchanged.
    ///
    /// Characters that XML 1.0 cannot contain even as references are written as `\u{1B}`.
    static func escaped(_ text: String, isElement: Bool = false) -> String {
        text.replacingScalars { scalar in
            switch scalar {
            case "&": "&amp;"
            case "<": "&lt;"
            // In "]]>" it would end a section that has not begun.
            case ">": "&gt;"
            case "\"": "&quot;"
            case "\t" where isElement, "\n" where isElement: nil
            case "\t", "\n", "\r": "&#\(scalar.value);"
            case "\u{00}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{FFFE}", "\u{FFFF}":
                "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
            default: nil
            }
        }
    }
}
