// Parses the parameters of a file, and fills in their values.

import KiiPush

extension RulesReader {
    // MARK: Declarations

    static let parameterKeys = ["type", "doc", "default", "secret"]

    /// The key `params` of a file, with the values that are given.
    mutating func params(_ node: PlacedValue, _ given: ParameterValues) -> [RuleParameter] {
        guard let object = object(node, "an object with parameters") else { return [] }
        if object.members.count > RuleParameter.most {
            report(node.offset, "expected at most \(RuleParameter.most) parameters, found \(object.members.count)")
            return []
        }
        let declared = object.members.map(\.key)
        return object.members.compactMap { member in
            guard let parameter = parameter(member) else { return nil }
            parameters.add(parameter, value(of: parameter, member, given, declared))
            return parameter
        }
    }

    private mutating func parameter(_ member: PlacedValue.Member) -> RuleParameter? {
        let isName = member.key.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte.isDigit || "_-.".utf8.contains(byte)
        }
        guard isName, (1...64).contains(member.key.utf8.count) else {
            return refuse(
                member.keyOffset, "expected the name of a parameter: 1 to 64 letters, digits, '_', '-' and '.'")
        }
        guard let object = object(member.value, "an object with type", keys: Self.parameterKeys),
            let type = required("type", of: object).flatMap({ choice($0, "type", RuleParameter.ValueType.self) })
        else { return nil }
        let isSecret = object["secret"].flatMap { bool($0) } ?? false
        var defaultValue: DataValue?
        if let node = object["default"] {
            defaultValue = type.value(.value(node.value))
            guard defaultValue != nil else { return refuse(node, expected: type.words) }
            guard defaultValue?.isOfParameter == true else {
                return refuse(node.offset, "expected \(DataValue.boundsOfParameter) as the default")
            }
            if isSecret { report(node.offset, "a secret parameter has no default: the file may be read by others") }
        }
        if let node = object["doc"] { _ = string(node, "a text") }
        return RuleParameter(
            name: member.key, type: type, defaultValue: defaultValue, isSecret: isSecret,
            position: position(member.keyOffset))
    }

    /// The value of a parameter: the given one, else the default; reports a wrong or missing one.
    private mutating func value(
        of parameter: RuleParameter, _ member: PlacedValue.Member, _ given: ParameterValues, _ declared: [String]
    ) -> DataValue? {
        let name = parameter.name
        guard let value = given[name] else {
            if parameter.defaultValue == nil, !parameter.isSecret {
                let near = Suggestion.of(name, among: given.names.filter { !declared.containsExactly($0) })
                report(
                    member.keyOffset,
                    "the parameter '\(name)' has no value; give it one, or a \"default\""
                        + (near.map { "; the value of '\(Suggestion.shown($0))' is given" } ?? ""))
            }
            return parameter.defaultValue
        }
        guard let typed = parameter.type.value(value.form) else {
            report(
                RulesError.Problem(
                    file: value.file, position: value.position,
                    what: "expected \(parameter.type.words) for the parameter '\(name)' (\(source.file):"
                        + "\(parameter.position)), found \(value.form.words)"))
            return nil
        }
        guard typed.isOfParameter else {
            report(
                RulesError.Problem(
                    file: value.file, position: value.position,
                    what: "expected \(DataValue.boundsOfParameter) for the parameter '\(name)'"))
            return nil
        }
        return typed
    }

    /// The table of values of a test.
    mutating func rows(_ node: PlacedValue, _ parameters: [RuleParameter]) -> [ParameterValues] {
        guard let nodes = list(node, "a list of objects with the values of parameters") else { return [] }
        if nodes.isEmpty { report(node.offset, "expected a row of values, found an empty list") }
        return nodes.map { node in
            let row = values(node, "an object with the values of parameters")
            for name in row.names where !parameters.contains(where: { $0.name.isExactly(name) }) {
                report(node.offset, Suggestion.unknown("parameter", name, known: parameters.map(\.name)))
            }
            for parameter in parameters where parameter.isSecret && row[parameter.name] != nil {
                report(node.offset, "a test knows no secret: '\(parameter.name)' stays its placeholder")
            }
            return row
        }
    }

    // MARK: Placeholders

    /// A string with its placeholders of parameters replaced; reports an unknown or a secret one.
    mutating func filled(_ text: String, at node: PlacedValue, allowsSecrets: Bool = false) -> String? {
        filled(node) { table throws(RuleTemplateError) in try table.filled(text, allowsSecrets: allowsSecrets) }
    }

    /// The value that a string is: of its only placeholder, or else its text; reports an unknown or a secret one.
    mutating func filledValue(_ node: PlacedValue) -> DataValue? {
        let text = text(node)
        return filled(node) { table throws(RuleTemplateError) in
            if let value = try table.value(text) { return value }
            return .string(try table.filled(text))
        }
    }

    /// What `fill` makes with the parameters; reports its error.
    mutating func filled<Value>(
        _ node: PlacedValue, _ fill: (inout ParameterTable) throws(RuleTemplateError) -> Value
    ) -> Value? {
        do throws(RuleTemplateError) { return try fill(&parameters) } catch {
            return refuse(node.offset, error.what)
        }
    }

    /// A URI whose parts are filled in, so that no value can change what it names.
    mutating func filled(_ uri: KiiURI, at node: PlacedValue) -> KiiURI? {
        func part(_ text: String) -> String? {
            guard let filled = filled(text, at: node) else { return nil }
            if filled.isEmpty { report(node.offset, "a value in a URI is empty") }
            return filled.isEmpty ? nil : filled
        }
        return uri.replacingParts(part)
    }
}

extension DataValue {
    fileprivate static let boundsOfParameter = "at most \(RuleParameter.mostBytes) bytes without a zero byte"

    /// Whether its text is as long as that of a parameter may be, and has no zero byte.
    fileprivate var isOfParameter: Bool {
        string.map { $0.utf8.count <= RuleParameter.mostBytes && !$0.utf8.contains(0) } ?? false
    }
}

extension RuleParameter.ValueType {
    var words: String {
        switch self {
        case .string: "a string"
        case .number: "a number"
        case .boolean: "true or false"
        }
    }

    /// A given value as one of this type; nil if it has another.
    func value(_ form: ParameterValues.Form) -> DataValue? {
        switch (self, form) {
        case (.string, .text(let text)): .string(text)
        case (.number, .text(let text)): JSONNumber.isNumber(text.utf8.span, 0..<text.utf8.count) ? .number(text) : nil
        case (.boolean, .text("true")): .bool(true)
        case (.boolean, .text("false")): .bool(false)
        case (.string, .value(.string(let text))): .string(text)
        case (.number, .value(.number(let text))): .number(text)
        case (.boolean, .value(.bool(let flag))): .bool(flag)
        default: nil
        }
    }
}

extension ParameterValues.Form {
    /// The type of the value, but not the value, which may be secret.
    var words: String {
        switch self {
        case .text: "another value"
        case .value(.string): "a string"
        case .value(.number): "a number"
        case .value(.bool): "true or false"
        case .value: "another value"
        }
    }
}
