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

    /// Parses a text, and fills in parameters; a value is never read for placeholders itself.
    init(_ text: String, _ parameters: inout ParameterTable) throws(RuleTemplateError) {
        var parts: [Part] = []
        var plain: [UInt8] = []
        func add(_ part: Part) {
            if !plain.isEmpty { parts.append(.text(String(decoding: plain, as: UTF8.self))) }
            plain = []
            parts.append(part)
        }
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "$"), rest.starts(with: "${".utf8) {
                plain += Array("${".utf8)
                rest = rest.dropFirst(2)
            } else if byte == UInt8(ascii: "$"), rest.first == UInt8(ascii: "{") {
                guard let end = rest.firstIndex(of: UInt8(ascii: "}")) else {
                    throw RuleTemplateError(what: "a '${' without '}'; write '$${' for the two characters themselves")
                }
                let name = String(decoding: rest[..<end].dropFirst(), as: UTF8.self)
                rest = rest[(end + 1)...]
                guard name.begins(exactlyWith: "param.") else {
                    add(.field(try RuleField(name)))
                    continue
                }
                let entry = try parameters.entry(name.droppingFirst(bytes: 6), allowsSecret: true)
                if entry.parameter.isSecret { add(.secret(entry.parameter.name)) }
                plain += Array((entry.value?.string ?? "").utf8)
            } else {
                plain.append(byte)
            }
        }
        if !plain.isEmpty || parts.isEmpty { parts.append(.text(String(decoding: plain, as: UTF8.self))) }
        self.parts = parts
    }

    /// The text with its placeholders, and with the values of parameters that are not secret; `$${` is `${` in it.
    package var source: String {
        parts.reduce(into: "") { whole, part in
            switch part {
            case .text(let text): whole += text
            case .field(let field): whole += field.placeholder
            case .secret(let name): whole += "\(ParameterTable.opening)\(name)}"
            }
        }
    }

    package var fields: [RuleField] {
        parts.compactMap { part in
            if case .field(let field) = part { field } else { nil }
        }
    }

    /// The text for a message; a text that is only one placeholder keeps the value's type, such as number or boolean.
    func value(_ message: PushMessage, _ secrets: RuleSecrets) throws(MissingRuleValue) -> DataValue {
        if parts.count == 1, case .field(let field) = parts[0] { return try field.value(message) }
        if parts.count == 1, case .secret(let name) = parts[0] { return secrets.value(name) }
        return .string(try text(message, secrets))
    }

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
package indirect enum RuleValue: Sendable, Hashable {
    case fixed(DataValue)
    case template(RuleTemplate)
    case array([RuleValue])
    case object([Member])

    package struct Member: Sendable, Hashable {
        let key: String
        let value: RuleValue
    }

    /// The value with its placeholders, as in ``RuleTemplate/source``.
    package var source: DataValue {
        switch self {
        case .fixed(let value): value
        case .template(let template): .string(template.source)
        case .array(let values): .array(values.map(\.source))
        case .object(let members): .object(members.map { (key: $0.key, value: $0.value.source) })
        }
    }

    package var fields: [RuleField] {
        switch self {
        case .fixed: []
        case .template(let template): template.fields
        case .array(let values): values.flatMap(\.fields)
        case .object(let members): members.flatMap(\.value.fields)
        }
    }

    func filled(_ message: PushMessage, _ secrets: RuleSecrets) throws(MissingRuleValue) -> DataValue {
        switch self {
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

/// The object or topic that a rule writes or sends to: a URI whose ids and names may contain placeholders.
///
/// Each part is filled in separately, so no value of a message can redirect it: a slash stays within its part.
package struct RuleTarget: Sendable, Hashable {
    /// The URI as the file has it, with the values of parameters.
    package let uri: KiiURI
    /// The owner's id if it has one, the bucket's or the topic's name, and the object's id if it has one.
    let parts: [RuleTemplate]

    /// Parses the URI of an object or a topic.
    init(_ uri: KiiURI, _ parameters: inout ParameterTable) throws(RuleTemplateError) {
        var parts: [RuleTemplate] = []
        let filled = try uri.replacingParts { text throws(RuleTemplateError) in
            // Refuses secrets, which a URI would show.
            _ = try parameters.filled(text)
            let template = try RuleTemplate(text, &parameters)
            guard !template.source.isEmpty else { throw RuleTemplateError(what: "a value in the URI is empty") }
            parts.append(template)
            return template.source
        }
        self.uri = filled ?? uri
        self.parts = parts
    }

    package var fields: [RuleField] { parts.flatMap(\.fields) }

    func filled(_ message: PushMessage) throws(MissingRuleValue) -> KiiURI {
        var rest = parts.makeIterator()
        return try uri.replacingParts { text throws(MissingRuleValue) in
            try rest.next()?.text(message) ?? text
        } ?? uri
    }
}
