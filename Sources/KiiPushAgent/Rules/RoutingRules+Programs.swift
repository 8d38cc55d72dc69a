package import KiiPushRules
import KiiPushSystem

extension RoutingRules {
    /// The same as `lint(handlers:)`, and checks whether this machine can start the programs of `run` actions.
    ///
    /// A program with a relative path is looked for in the working directory, and one without a slash on `PATH`.
    ///
    /// - Parameter handlers: the names of the handlers that the program registers; nil if unknown.
    /// - Returns: the findings, in order of position.
    package func lintHere(handlers: [String]? = nil) -> [RuleFinding] {
        lint(handlers: handlers) { program in
            ProgramProblem.find(program).map { "\(EscapedText($0.program)): \($0.text)" }
        }
    }

    /// The rules whose programs this machine cannot start, each with its place and the reason.
    package var programProblems: [String] {
        rules.compactMap { rule in
            guard case .run(let vector) = rule.action, let problem = ProgramProblem.find(vector.first ?? "") else {
                return nil
            }
            return "\(file):\(rule.actionPosition): the rule '\(rule.id)' cannot run its program: \(problem.program): "
                + problem.text
        }
    }
}
