// Parameters that nothing uses, and values that no parameter takes.

import KiiPush

extension RulesLint {
    mutating func checkParameters() {
        for parameter in rules.unusedParameters {
            report(
                .unusedParameter, parameter.position, nil,
                "no placeholder uses the parameter '\(parameter.name)'; write ${param.\(parameter.name)}, or leave it out"
            )
        }
        for problem in rules.unusedValues {
            findings.append(
                RuleFinding(
                    code: .unusedValue, file: problem.file, position: problem.position, what: problem.what, rule: nil,
                    related: []))
        }
    }
}

extension RoutingRules {
    /// The values that are given for parameters that the file does not declare.
    package var unusedValues: [RulesError.Problem] {
        let declared = params.map(\.name)
        return given.names.filter { !declared.containsExactly($0) }.compactMap { name in
            given[name].map { value in
                RulesError.Problem(
                    file: value.file, position: value.position,
                    what: "\(file) declares no such parameter: "
                        + Suggestion.unknown("parameter", name, known: declared))
            }
        }
    }
}
