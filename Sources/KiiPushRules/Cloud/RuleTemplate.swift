package import KiiPush

/// A text of a rule in which `${…}` is replaced by a value of the message; `$${` is a literal `${`.
package struct RuleTemplate: Sendable, Hashable {
    enum Part: Sendable, Hashable {
        case text(String)
        case field(RuleField)
        /// The value of a secret parameter, by its name.
        case secret(String)
    }

    let parts: [Part]
    /// The text as the file has it, with the values of parameters that are not secret.
    package let source: String

    /// Parses a text.
    ///
    /// - Throws: ``RuleTemplateError``.
    init(_ source: String) throws(RuleTemplateError) {
        var none = ParameterTable()
        try self.init(source, &none)
    }

    /// Parses a text, and fills in parameters; a value is never read for placeholders itself.
    ///
    /// - Throws: ``RuleTemplateError``.
    init(_ original: String, _ parameters: inout ParameterTable) throws(RuleTemplateError) {
        var written: [UInt8] = []
        var parts: [Part] = []
        var text: [UInt8] = []
        let bytes = Array(original.utf8)
        let (dollar, open, close) = (UInt8(ascii: "$"), UInt8(ascii: "{"), UInt8(ascii: "}"))
        var index = 0
        func at(_ offset: Int) -> UInt8? { offset < bytes.count ? bytes[offset] : nil }
        while index < bytes.count {
            if bytes[index] == dollar, at(index + 1) == dollar, at(index + 2) == open {
                text += [dollar, open]
                written += [dollar, dollar, open]
                index += 3
            } else if bytes[index] == dollar, at(index + 1) == open {
                guard let end = bytes[index...].firstIndex(of: close) else {
                    throw RuleTemplateError(what: "a '${' without '}'; write '$${' for the two characters themselves")
                }
                let name = String(decoding: bytes[(index + 2)..<end], as: UTF8.self)
                let placeholder = bytes[index...end]
                index = end + 1
                var part: Part?
                if name.begins(exactlyWith: "param.") {
                    let entry = try parameters.entry(name.droppingFirst(bytes: 6), allowsSecret: true)
                    if entry.parameter.isSecret { part = .secret(entry.parameter.name) }
                    let value = entry.value?.string ?? ""
                    text += Array(value.utf8)
                    for (byte, next) in zip(value.utf8, value.utf8.dropFirst() + [0]) {
                        written += byte == dollar && next == open ? [dollar, dollar] : [byte]
                    }
                } else {
                    part = .field(try RuleField(name))
                }
                guard let part else { continue }
                written += placeholder
                if !text.isEmpty { parts.append(.text(String(decoding: text, as: UTF8.self))) }
                text = []
                parts.append(part)
            } else {
                text.append(bytes[index])
                written.append(bytes[index])
                index += 1
            }
        }
        if !text.isEmpty || parts.isEmpty { parts.append(.text(String(decoding: text, as: UTF8.self))) }
        self.parts = parts
        source = String(decoding: written, as: UTF8.self)
    }

    /// The placeholders in it, in order.
    package var fields: [RuleField] {
        parts.compactMap { part in
            if case .field(let field) = part { field } else { nil }
        }
    }

    /// The text for a message; a text that is only one placeholder keeps the value's type, such as number or boolean.
    ///
    /// - Throws: ``MissingRuleValue``.
    func value(_ message: PushMessage, _ secrets: RuleSecrets) throws(MissingRuleValue) -> DataValue {
        if parts.count == 1, case .field(let field) = parts[0] { return try field.value(message) }
        if parts.count == 1, case .secret(let name) = parts[0] { return secrets.value(name) }
        return .string(try text(message, secrets))
    }

    /// The text for a message.
    ///
    /// - Throws: ``MissingRuleValue``.
    func text(_ message: PushMessage, _ secrets: RuleSecrets = .none) throws(MissingRuleValue) -> String {
        var whole = ""
        for part in parts {
            switch part {
            case .text(let text): whole += text
            case .secret(let name): whole += secrets.value(name).string ?? ""
            case .field(let field):
                guard let text = try field.value(message).string else {
                    throw MissingRuleValue(field: field.name, wanted: "text")
                }
                whole += text
            }
        }
        return whole
    }
}

/// A value of a rule whose texts, at any depth, may contain placeholders.
package struct RuleValue: Sendable, Hashable {
    indirect enum Content: Sendable, Hashable {
        case fixed(DataValue)
        case template(RuleTemplate)
        case array([RuleValue])
        case object([Member])
    }

    struct Member: Sendable, Hashable {
        let key: String
        let value: RuleValue
    }

    let content: Content

    /// The value as the file has it.
    package var source: DataValue {
        switch content {
        case .fixed(let value): value
        case .template(let template): .string(template.source)
        case .array(let values): .array(values.map(\.source))
        case .object(let members): .object(members.map { (key: $0.key, value: $0.value.source) })
        }
    }

    /// The placeholders in it.
    package var fields: [RuleField] {
        switch content {
        case .fixed: []
        case .template(let template): template.fields
        case .array(let values): values.flatMap(\.fields)
        case .object(let members): members.flatMap(\.value.fields)
        }
    }

    /// The value for a message.
    ///
    /// - Throws: ``MissingRuleValue``.
    func filled(_ message: PushMessage, _ secrets: RuleSecrets) throws(MissingRuleValue) -> DataValue {
        switch content {
        case .fixed(let value): return value
        case .template(let template): return try template.value(message, secrets)
        case .array(let values):
            var filled: [DataValue] = []
            for value in values { filled.append(try value.filled(message, secrets)) }
            return .array(filled)
        case .object(let members):
            var filled: [(key: String, value: DataValue)] = []
            for member in members { filled.append((member.key, try member.value.filled(message, secrets))) }
            return .object(filled)
        }
    }
}
