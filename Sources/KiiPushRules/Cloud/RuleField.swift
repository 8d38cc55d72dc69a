import KiiPush

/// A placeholder for a value of the message: `${data.room}`, `${object}`, `${data.temp|number}`.
package struct RuleField: Sendable, Hashable {
    /// Where the value comes from.
    enum Source: Sendable, Hashable {
        case data(String)
        case bucket
        case object
        case topic
        case scopeID
        case event
        case senderID
        case when
    }

    /// The type to which the value is converted.
    enum Form: String, Sendable, Hashable, CaseIterable {
        case text
        case number
        case bool
    }

    let source: Source
    /// nil keeps the value's own type.
    let form: Form?

    /// The field as the file names it, such as `data.room`.
    package var name: String {
        switch source {
        case .data(let key): Self.dataPrefix + key
        case .bucket: "bucket"
        case .object: "object"
        case .topic: "topic"
        case .scopeID: "scopeID"
        case .event: "event"
        case .senderID: "senderID"
        case .when: "when"
        }
    }

    private static let dataPrefix = "data."
    private static let simple: [Source] = [.bucket, .object, .topic, .scopeID, .event, .senderID, .when]

    /// Parses the text between `${` and `}`.
    ///
    /// - Throws: ``RuleTemplateError``, which says what was expected.
    init(_ text: String) throws(RuleTemplateError) {
        let parts = text.split(separator: "|", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
        if parts.count == 2 {
            guard let form = Form(rawValue: parts[1]) else {
                throw RuleTemplateError(
                    what: Suggestion.unknown("form", parts[1], known: Form.allCases.map(\.rawValue)))
            }
            self.form = form
        } else {
            form = nil
        }
        let name = parts.first ?? ""
        if name.begins(exactlyWith: Self.dataPrefix), name.utf8.count > Self.dataPrefix.utf8.count {
            source = .data(name.droppingFirst(bytes: Self.dataPrefix.utf8.count))
            return
        }
        let known = Self.simple.map { RuleField(source: $0, form: nil) }
        guard let found = known.first(where: { $0.name.isExactly(name) }) else {
            throw RuleTemplateError(
                what: Suggestion.unknown("field", name, known: ["data.KEY"] + known.map(\.name)))
        }
        source = found.source
    }

    private init(source: Source, form: Form?) {
        self.source = source
        self.form = form
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
        case .bucket: message.bucket.map { .string($0.name) }
        case .object: message.object.map { .string($0.id) }
        case .topic: message.topic.map { .string($0.name) }
        case .scopeID: message.scope.id.map { .string($0) }
        case .event: message.event.map { .string($0.name) }
        case .senderID: message.sender.map { .string($0.id) }
        case .when: message.sentAt.map { .number(String($0)) }
        }
    }
}

/// The message lacks a value that a rule needs, so the message fails; the error quotes no value.
package struct MissingRuleValue: Error, Sendable, Hashable, CustomStringConvertible {
    /// The field as the rule names it.
    package let field: String
    /// The type to which the value cannot be converted, such as `number`; nil if there is no value.
    package let wanted: String?

    /// What is missing, and how to fix it.
    package var description: String {
        let name = Suggestion.shown(field)
        if let wanted { return "the message's \(name) is no \(wanted)" }
        let isDotted = field.split(separator: ".", omittingEmptySubsequences: false).count > 2
        return "the message has no \(name); "
            + (isDotted ? "a dot does not look into a value" : "require it in the rule's 'when'")
    }
}
