import KiiPush
import KiiPushRules
import KiiPushTesting

/// The coverage report of `kiipush rules test` for people.
enum RulesTestText {
    private static let mostGaps = 200

    static func lines(_ coverage: RuleCoverage, _ uncovered: [RuleCoverage.Gap], in file: String) -> [String] {
        var lines = ["\(file): covered \(percent(coverage))"]
        lines += uncovered.prefix(mostGaps).map { "  \(file):\($0.position): \($0)" }
        if uncovered.count > mostGaps { lines.append("  and \(uncovered.count - mostGaps) more") }
        let seen = coverage.outcomes.filter { $0.messages > 0 }.map { "\($0.messages) \($0.name)" }
        let unseen = coverage.outcomes.filter { $0.messages == 0 }.map(\.name)
        lines.append(
            "  outcomes: \(seen.isEmpty ? "none" : seen.joined(separator: ", "))"
                + (unseen.isEmpty ? "" : "; never \(unseen.joined(separator: ", "))"))
        return lines
    }

    /// For example `87.5% (7 of 8)`; rounded down, so that 100% means all.
    static func percent(_ coverage: RuleCoverage) -> String {
        let tenths = coverage.points == 0 ? 1000 : coverage.covered * 1000 / coverage.points
        return "\(tenths / 10).\(tenths % 10)% (\(coverage.covered) of \(coverage.points) points)"
    }

    /// A number as typed, without a zero fraction.
    static func number(_ number: Double) -> String {
        number.rounded() == number ? String(Int(number)) : String(number)
    }
}

enum RulesTestJSON {
    static func line(_ result: RuleTestResult, in file: String) -> String {
        JSONWriter.object { writer in
            writer.member("file", file)
            writer.member("test", result.test.name)
            writer.place(result.test.position)
            writer.member("steps", result.test.steps.count)
            writer.member("result", result.passed ? "passed" : "failed")
            writer.list("failures", result.failures) { $0.write($1) }
            writer.list("cloud", result.cloud) { writer, done in
                writer.object { writer in
                    writer.member("step", done.step)
                    writer.member("action", value: done.action.value)
                }
            }
        }
    }

    /// A file that cannot be tested, or has no tests.
    static func line(file: String, _ problems: [RulesError.Problem]) -> String {
        JSONWriter.object { writer in
            writer.member("file", file)
            writer.objects("problems", problems) { writer, problem in
                writer.place(problem.position)
                writer.member("message", problem.what)
            }
        }
    }

    static func line(_ coverage: RuleCoverage, _ uncovered: [RuleCoverage.Gap], in file: String) -> String {
        JSONWriter.object { writer in
            writer.member("file", file)
            writer.member("coverage") { writer in
                writer.member("points", coverage.points)
                writer.member("covered", coverage.covered)
                writer.member("percent", value: .number(String(coverage.percent)))
                writer.list("uncovered", uncovered) { writer, gap in
                    writer.object { writer in
                        writer.place(gap.position)
                        writer.member("rule", gap.rule)
                        writer.member("condition", gap.condition)
                        writer.member("key", gap.key)
                        writer.member("never", gap.kind.rawValue)
                    }
                }
                writer.member("outcomes") { writer in
                    for (name, messages) in coverage.outcomes { writer.member(name, messages) }
                }
            }
        }
    }

    static func line(_ sums: RulesTestSums) -> String {
        JSONWriter.object { writer in
            writer.member("summary") { writer in
                writer.member("files", sums.files)
                writer.member("untestable", sums.unreadable)
                writer.member("tests", sums.tests)
                writer.member("passed", sums.tests - sums.failed)
                writer.member("failed", sums.failed)
            }
        }
    }
}

extension JSONWriter {
    mutating func place(_ position: SourcePosition) {
        member("line", position.line)
        member("column", position.column)
    }

    fileprivate mutating func write(_ failure: RuleTestFailure) {
        object { writer in
            writer.place(failure.position)
            writer.member("row", failure.row.map { Int64($0) })
            writer.member("step", failure.step.map { Int64($0) })
            writer.member("stepLine", failure.stepPosition.map { Int64($0.line) })
            writer.member("key", failure.key)
            writer.member("expected", value: failure.expected ?? .null)
            writer.member("actual", value: failure.actual ?? .null)
            writer.member("message", failure.what)
            writer.member("stages", failure.stages)
            writer.list("rules", failure.rules) { $0.write($1) }
        }
    }

    private mutating func write(_ verdict: RuleVerdict) {
        object { writer in
            writer.member("rule", verdict.rule)
            writer.place(verdict.position)
            switch verdict.answer {
            case .takes: writer.member("answer", "takes")
            case .notTried(let earlier):
                writer.member("answer", "notTried")
                writer.member("after", earlier)
            case .misses(let check):
                writer.member("answer", "misses")
                writer.member("condition", check.name)
                writer.member("key", check.key)
                writer.member("expected", check.expected)
                writer.member("actual", check.actual)
                writer.member("reason", check.reason)
            }
        }
    }
}
