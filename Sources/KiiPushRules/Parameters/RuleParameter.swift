package import KiiPush

/// A parameter that a rules file declares in `params`: a value that differs between devices.
package struct RuleParameter: Sendable, Hashable {
    /// The type of a parameter's value.
    package enum ValueType: String, Sendable, Hashable, CaseIterable {
        /// A string.
        case string
        /// A number.
        case number
        /// True or false.
        case boolean
    }

    /// The most parameters of a file.
    package static let most = 100
    /// The most bytes of a value's text.
    package static let mostBytes = 4096

    /// The name, which placeholders such as `${param.thing}` use: 1 to 64 letters, digits, `_`, `-` and `.`.
    package let name: String
    /// The type of its value.
    package let type: ValueType
    /// What it is for; nil if the file does not say.
    package let doc: String?
    /// The value of a device that gives none; nil if each device must give one.
    package let defaultValue: DataValue?
    /// Whether no output may show the value: only arguments of `run`, fields of `write` and data of `send` may use it,
    /// and only when an action runs.
    package let isSecret: Bool
    /// The position of its name.
    package let position: SourcePosition
}

/// A parameter with its value in the rules that are in use.
struct ParameterEntry {
    let parameter: RuleParameter
    /// nil for a secret, and for a value that is missing, which was reported.
    let value: DataValue?
}

/// The values of secret parameters; they print as nothing.
package struct RuleSecrets: Sendable, CustomStringConvertible, CustomReflectable {
    private var values: [ExactText: DataValue] = [:]
    /// The parameters that have no value, also those that no rule uses.
    private(set) var missing: [RuleParameter] = []

    /// No values: placeholders stay as they are.
    package static let none = RuleSecrets()

    mutating func add(_ parameter: RuleParameter, _ value: DataValue?) {
        values[ExactText(parameter.name)] = value
        if value == nil { missing.append(parameter) }
    }

    /// The value of a secret; its placeholder if the value is not known.
    func value(_ name: String) -> DataValue {
        values[ExactText(name)] ?? .string("\(ParameterTable.opening)\(name)}")
    }

    /// A program's arguments with the secrets in them.
    func filled(_ arguments: [String]) -> [String] {
        values.isEmpty
            ? arguments
            : arguments.map { argument in
                ParameterTable.parts(argument).reduce(into: "") { text, part in
                    switch part {
                    case .text(let plain): text += plain
                    case .parameter(let name): text += value(name).string ?? ""
                    }
                }
            }
    }

    package var description: String { "(secrets)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
