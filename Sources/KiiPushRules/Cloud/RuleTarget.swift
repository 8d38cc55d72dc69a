public import KiiPush

/// The object or topic that a rule writes or sends to: a URI whose ids and names may contain placeholders.
///
/// Each part is filled in separately, so no value of a message can redirect it: a slash stays within its part.
public struct RuleTarget: Sendable, Hashable {
    /// The URI as the file has it, with the values of parameters.
    public let uri: KiiURI
    /// The owner's id; nil for the app scope.
    let owner: RuleTemplate?
    /// The bucket's or the topic's name.
    let name: RuleTemplate
    /// The object's id; nil for a topic.
    let object: RuleTemplate?

    /// Parses the URI of an object or a topic.
    ///
    /// - Throws: ``RuleTemplateError``.
    init(_ uri: KiiURI, _ parameters: inout ParameterTable) throws(RuleTemplateError) {
        var sources: [String: String] = [:]
        func template(_ text: String) throws(RuleTemplateError) -> RuleTemplate {
            // Refuses secrets, which a URI would show.
            _ = try parameters.filled(text)
            let template = try RuleTemplate(text, &parameters)
            guard !template.source.isEmpty else { throw RuleTemplateError(what: "a value in the URI is empty") }
            sources[text] = template.source
            return template
        }
        switch uri.owner {
        case .app: owner = nil
        case .user(let id), .group(let id), .thing(let id), .admin(let id): owner = try template(id)
        }
        switch uri.resource {
        case .object(let bucket, _, let id): (name, object) = (try template(bucket), try template(id))
        case .bucket(let text, _), .topic(let text): (name, object) = (try template(text), nil)
        case .none: throw RuleTemplateError(what: "a URI that names nothing to write or send to")
        }
        self.uri = uri.replacingParts { sources[$0] ?? $0 } ?? uri
    }

    /// The placeholders in it.
    public var fields: [RuleField] { (owner?.fields ?? []) + name.fields + (object?.fields ?? []) }

    /// The URI for a message.
    ///
    /// - Throws: ``MissingRuleValue``.
    func filled(_ message: PushMessage) throws(MissingRuleValue) -> KiiURI {
        let id = try owner?.text(message) ?? ""
        let owner: KiiURI.Owner =
            switch uri.owner {
            case .app: .app
            case .user: .user(id)
            case .group: .group(id)
            case .thing: .thing(id)
            case .admin: .admin(id)
            }
        let name = try name.text(message)
        let object = try object?.text(message) ?? ""
        let resource: KiiURI.Resource =
            switch uri.resource {
            case .none: .none
            case .topic: .topic(name)
            case .bucket(_, let isEncrypted): .bucket(name: name, isEncrypted: isEncrypted)
            case .object(_, let isEncrypted, _): .object(bucket: name, isEncrypted: isEncrypted, id: object)
            }
        return KiiURI(appID: uri.appID, owner: owner, resource: resource)
    }
}
