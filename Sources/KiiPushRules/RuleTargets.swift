// What a rule writes and sends to, be it said by `writes` or done by the rule itself.

package import KiiPush

extension RoutingRule {
    /// Something that a rule writes or sends to.
    package struct Target {
        package let uri: KiiURI
        package let position: SourcePosition
        /// What fills in its ids and names; nil for a URI of `writes`, which stands as it is.
        let template: RuleTarget?
    }

    /// All that the rule writes and sends to, in the order of the file but for its own action, which comes last.
    package var targets: [Target] {
        var targets = writes.enumerated().map { index, uri in
            Target(
                uri: uri, position: index < writePositions.count ? writePositions[index] : position, template: nil)
        }
        if let own = ownTarget { targets.append(Target(uri: own.uri, position: actionPosition, template: own)) }
        return targets
    }

    /// What the rule's own action writes or sends to; nil where it does neither.
    package var ownTarget: RuleTarget? {
        switch action {
        case .write(let write): write.object
        case .send(let push): push.topic
        case .handler, .run, .print: nil
        }
    }

    /// Every value of a message that the rule's own action fills in, each once.
    var filledFields: [RuleField] {
        let all: [RuleField] =
            switch action {
            case .write(let write): write.object.fields + write.fields.fields
            case .send(let push): push.topic.fields + push.message.fields
            case .handler, .run, .print: []
            }
        var seen: Set<ExactText> = []
        return all.filter { seen.insert(ExactText($0.name)).inserted }
    }
}

extension RuleTarget {
    /// What the messages of a write or a push ask of a rule, as far as it is known before there is a message.
    ///
    /// - Parameter taken: the conditions of the rule that writes: what fills in a name meets them.
    /// - Returns: the conditions; nil where nobody is pushed to.
    func criteria(of taken: RouteCriteria) -> RouteCriteria? {
        var criteria = RouteCriteria(certainty: [.certain])
        let id = owner.map { $0.pattern(taken) } ?? .any
        switch uri.owner {
        case .app: criteria.scope = .app
        case .user: criteria.scope = ScopePattern([ScopePattern.Alternative(kind: .user, id: id)])
        case .group: criteria.scope = ScopePattern([ScopePattern.Alternative(kind: .group, id: id)])
        case .thing: criteria.scope = ScopePattern([ScopePattern.Alternative(kind: .thing, id: id)])
        case .admin: return nil
        }
        if let object {
            criteria.bucket = name.pattern(taken)
            criteria.object = object.pattern(taken)
        } else {
            criteria.topic = name.pattern(taken)
        }
        return criteria
    }
}

extension RuleTemplate {
    /// The texts that it may become in a message that meets these conditions.
    fileprivate func pattern(_ taken: RouteCriteria) -> TextPattern {
        var pieces = [""]
        for part in parts {
            switch part {
            case .text(let text): pieces[pieces.count - 1] += text
            case .field(let field):
                if parts.count == 1, let known = field.pattern(taken) { return known }
                pieces.append("")
            }
        }
        return pieces.count == 1 ? .exactly(pieces[0]) : TextPattern([.pieces(pieces)])
    }
}

extension RuleField {
    /// What a condition says of the field's value.
    fileprivate func pattern(_ taken: RouteCriteria) -> TextPattern? {
        switch source {
        case .bucket: return taken.bucket
        case .object: return taken.object
        case .topic: return taken.topic
        case .scopeID:
            if let id = taken.scopeID { return id }
            guard let alternatives = taken.scope?.alternatives, !alternatives.isEmpty else { return nil }
            let ids = alternatives.compactMap(\.id)
            return ids.count == alternatives.count ? .anyOf(ids) : nil
        case .data, .event, .senderID, .when: return nil
        }
    }
}
