import KiiPush

/// A placeholder for a value of the message: `${data.room}`, `${object}`, `${data.temp|number}`.
package struct RuleField: Sendable, Hashable {
    enum Source: Sendable, Hashable {
        case data(String)
        case message(Property)
    }

    /// What a message has beside its data.
    enum Property: String, Sendable, Hashable, CaseIterable {
        case bucket, object, topic, scopeID, event, senderID, when
    }

    enum Form: String, Sendable, Hashable, CaseIterable {
        case text, number, bool
    }

    let source: Source
    /// nil keeps the value's own type.
    let form: Form?

    /// The field as the file names it, such as `data.room`.
    package var name: String {
        switch source {
        case .data(let key): RouteDedupe.prefix + key
        case .message(let property): property.rawValue
        }
    }

    /// The placeholder as the file has it.
    var placeholder: String { "${\(name)\(form.map { "|\($0.rawValue)" } ?? "")}" }

    /// Parses the text between `${` and `}`.
    init(_ text: String) throws(RuleTemplateError) {
        let parts = text.split(separator: "|", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
        form = parts.count == 2 ? Form(rawValue: parts[1]) : nil
        if parts.count == 2, form == nil {
            throw RuleTemplateError(what: Suggestion.unknown("form", parts[1], known: Form.allCases.map(\.rawValue)))
        }
        if let key = parts[0].keyOfData {
            source = .data(key)
        } else if let property = Property.allCases.first(where: { $0.rawValue.isExactly(parts[0]) }) {
            source = .message(property)
        } else {
            throw RuleTemplateError(
                what: Suggestion.unknown("field", parts[0], known: ["data.KEY"] + Property.allCases.map(\.rawValue)))
        }
    }

    /// The value in a message.
    ///
    /// - Throws: ``MissingRuleValue`` if the message has no value, or none of the type that is asked for.
    func value(_ message: PushMessage) throws(MissingRuleValue) -> DataValue {
        guard let value = found(in: message), value != .null else { throw MissingRuleValue(field: name, wanted: nil) }
        guard let form else { return value }
        let made: DataValue? =
            switch form {
            case .text: value.string.map { .string($0) }
            case .number:
                value.string.flatMap { text in
                    JSONNumber.isNumber(text.utf8.span, 0..<text.utf8.count) ? .number(text) : nil
                }
            case .bool: value.bool.map { .bool($0) }
            }
        guard let made else { throw MissingRuleValue(field: name, wanted: form.rawValue) }
        return made
    }

    private func found(in message: PushMessage) -> DataValue? {
        switch source {
        case .data(let key): message.data[key]
        case .message(.bucket): message.bucket.map { .string($0.name) }
        case .message(.object): message.object.map { .string($0.id) }
        case .message(.topic): message.topic.map { .string($0.name) }
        case .message(.scopeID): message.scope.id.map { .string($0) }
        case .message(.event): message.event.map { .string($0.name) }
        case .message(.senderID): message.sender.map { .string($0.id) }
        case .message(.when): message.sentAt.map { .number(String($0)) }
        }
    }
}

extension String {
    /// The key in a field such as `data.room`; nil for another text.
    var keyOfData: String? {
        let prefix = RouteDedupe.prefix
        guard begins(exactlyWith: prefix), utf8.count > prefix.utf8.count else { return nil }
        return droppingFirst(bytes: prefix.utf8.count)
    }
}

/// The message lacks a value that a rule needs, so the message fails; the error quotes no value.
package struct MissingRuleValue: ReportedError, Sendable, Hashable, CustomStringConvertible {
    /// The field as the rule names it.
    package let field: String
    /// The type to which the value cannot be converted, such as `number`; nil if there is no value.
    package let wanted: String?

    package var report: String { description }

    /// What is missing, and how to fix it.
    package var description: String {
        let name = Suggestion.shown(field)
        if let wanted { return "the message's \(name) is no \(wanted)" }
        let isDotted = field.split(separator: ".", omittingEmptySubsequences: false).count > 2
        return "the message has no \(name); "
            + (isDotted ? "a dot does not look into a value" : "require it in the rule's 'when'")
    }
}
