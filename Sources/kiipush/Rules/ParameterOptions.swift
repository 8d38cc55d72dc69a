import KiiPushAgent
import KiiPushRules

/// The options `--params` and `--param`: a device's values for the parameters of its rules.
struct ParameterOptions {
    fileprivate(set) var file: String?
    fileprivate var texts: [(name: String, text: String)] = []

    /// The values; those of `--param` win.
    ///
    /// - Throws: `ReadError` if the file cannot be read; `RulesError` with every problem of it.
    func values() throws -> ParameterValues {
        var values = try file.map { try ParameterValues(contentsOf: $0) } ?? ParameterValues()
        for (name, text) in texts { values.set(name, to: text, place: "--param \(escaped(name))") }
        return values
    }

    /// Whether none is given.
    var isEmpty: Bool { file == nil && texts.isEmpty }

    /// Refuses values where no rules are given that could use them.
    func check(rules: String?) throws(Arguments.Mistake) {
        guard rules != nil || isEmpty else { throw Arguments.Mistake(text: "--params and --param need --rules") }
    }
}

/// The options of a command that reads rules.
protocol ReadsRules: SendableMetatype {
    var params: ParameterOptions { get set }
}

extension CommandOption where Target: ReadsRules {
    /// The file with values.
    static var params: Self {
        .value(
            "--params", "FILE",
            #"the values of the rules' parameters, such as {"thing": "th.7"}; readable by its owner only if some are secret"#,
            completes: .file
        ) { $0.params.file = $1 }
    }

    static var param: Self {
        .value(
            "--param", "NAME=VALUE", "a value of a parameter, instead of that of --params. May be repeated",
            as: { option, text throws(Arguments.Mistake) in
                guard let sign = text.firstIndex(of: "="), sign != text.startIndex else {
                    throw Arguments.Mistake(text: "\(option) takes a name and a value, such as thing=th.7")
                }
                return (name: String(text[..<sign]), text: String(text[text.index(after: sign)...]))
            }
        ) { target, value in target.params.texts.append(value) }
    }
}
