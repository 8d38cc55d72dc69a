package import KiiPush

/// The object or topic that a rule writes or sends to: a URI whose ids and names may contain placeholders.
///
/// Each part is filled in separately, so no value of a message can redirect it: a slash stays within its part.
package struct RuleTarget: Sendable, Hashable {
    /// The URI as the file has it, with the values of parameters.
    package let uri: KiiURI
    /// The owner's id if it has one, the bucket's or the topic's name, and the object's id if it has one.
    let parts: [RuleTemplate]

    /// Parses the URI of an object or a topic.
    ///
    /// - Throws: ``RuleTemplateError``.
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
        if uri.resource == .none { throw RuleTemplateError(what: "a URI that names nothing to write or send to") }
        self.uri = filled ?? uri
        self.parts = parts
    }

    /// The placeholders in it.
    package var fields: [RuleField] { parts.flatMap(\.fields) }

    /// The URI for a message.
    ///
    /// - Throws: ``MissingRuleValue``.
    func filled(_ message: PushMessage) throws(MissingRuleValue) -> KiiURI {
        var rest = parts.makeIterator()
        return try uri.replacingParts { text throws(MissingRuleValue) in
            try rest.next()?.text(message) ?? text
        } ?? uri
    }
}
