import KiiPush
public import KiiPushRules
import KiiPushSystem

extension RoutingRules {
    /// Reads a rules file from disk.
    ///
    /// - Parameters:
    ///   - path: the file's path; errors begin with it.
    ///   - params: the values of this device for the parameters that the file declares.
    /// - Throws: `ReadError` if the file cannot be read or exceeds 16 MiB; `RulesError` with every problem of it.
    public init(contentsOf path: String, params: ParameterValues = [:]) throws {
        let bytes = try ByteReader(path: path).readAll(limit: RoutingRules.mostBytes)
        try self.init(bytes, file: EscapedText(path).description, params: params)
    }
}

extension ParameterValues {
    /// Reads a file of values from disk: one JSON object, such as `{"thing": "th.7", "limit": 21}`.
    ///
    /// - Parameter path: the file's path; errors begin with it.
    /// - Throws: `ReadError` if the file cannot be read or exceeds 1 MiB; `RulesError` with every problem of it.
    public init(contentsOf path: String) throws {
        let bytes = try ByteReader(path: path).readAll(limit: ParameterValues.mostBytes)
        try self.init(bytes, file: EscapedText(path).description)
    }
}

extension RoutingRules {
    /// The same as `lint(handlers:)`, and checks whether this machine can start the programs of `run` actions.
    ///
    /// A program with a relative path is looked for in the working directory, and one without a slash on `PATH`.
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
