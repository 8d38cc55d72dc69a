// Targets of rules: declared by `writes`, or of the rule's own action.

package import KiiPush

extension RoutingRule {
    /// Something that a rule writes or sends to.
    package struct Target {
        package let uri: KiiURI
        package let position: SourcePosition
        /// Its ids and names, with placeholders; nil for a URI of `writes`, which is literal.
        let template: RuleTarget?
    }

    /// All targets of the rule, in the order of the file; its own action comes last.
    package var targets: [Target] {
        var targets = writes.enumerated().map { index, uri in
            Target(
                uri: uri, position: index < writePositions.count ? writePositions[index] : position, template: nil)
        }
        if let own = ownTarget { targets.append(Target(uri: own.uri, position: actionPosition, template: own)) }
        return targets
    }

    /// The target of the rule's own action; nil if it has none.
    package var ownTarget: RuleTarget? {
        switch action {
        case .write(let write): write.object
        case .send(let push): push.topic
        case .handler, .run, .print: nil
        }
    }

    /// Every placeholder of the rule's own action, without duplicates.
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

extension RoutingRule.Target {
    /// The criteria that messages caused by a write or a push satisfy, as far as known in advance; nil if it causes no
    /// push.
    ///
    /// The values of placeholders satisfy the conditions of the writing rule.
    func criteria(of taken: RouteCriteria) -> RouteCriteria? {
        var criteria = RouteCriteria(certainty: [.certain])
        // The parts of the template stand in the order in which the URI's ids and names are asked for.
        var parts = template?.parts.makeIterator()
        func pattern(_ text: String) -> TextPattern { parts?.next()?.pattern(taken) ?? .exactly(text) }
        switch uri.owner {
        case .app: criteria.scope = .app
        case .user(let id): criteria.scope = .user(pattern(id))
        case .group(let id): criteria.scope = .group(pattern(id))
        case .thing(let id): criteria.scope = .thing(pattern(id))
        case .admin: return nil
        }
        switch uri.resource {
        case .none: return nil
        case .topic(let name): criteria.topic = pattern(name)
        case .bucket(let name, _): criteria.bucket = pattern(name)
        case .object(let name, _, let id):
            criteria.bucket = pattern(name)
            criteria.object = pattern(id)
        }
        return criteria
    }
}

extension RuleTemplate {
    /// The texts that it can become in a message that satisfies these conditions.
    fileprivate func pattern(_ taken: RouteCriteria) -> TextPattern {
        var pieces = [""]
        for part in parts {
            switch part {
            case .text(let text): pieces[pieces.count - 1] += text
            case .field(let field):
                if parts.count == 1, let known = field.pattern(taken) { return known }
                pieces.append("")
            case .secret: pieces.append("")
            }
        }
        return pieces.count == 1 ? .exactly(pieces[0]) : TextPattern([.pieces(pieces)])
    }
}

extension RuleField {
    /// The constraint that a condition puts on the field's value.
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
