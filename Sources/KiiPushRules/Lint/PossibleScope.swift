import KiiPush

/// One scope that messages of a rule can have: its type, and what its id must be.
struct PossibleScope {
    let kind: MessageScope.Kind
    /// Patterns of the id, all of which hold; the condition `scope` and the condition `scopeID` each may have one.
    let ids: [TextPattern]
    /// Whether the id may be missing.
    let mayLackID: Bool

    /// The scopes that a rule's messages can have; nil when its conditions say nothing of it, an empty list when there
    /// is none that meets them all.
    static func all(of criteria: RouteCriteria) -> [PossibleScope]? {
        // Without a complete scope there is no bucket, object or topic.
        let isComplete = criteria.bucket != nil || criteria.object != nil || criteria.topic != nil
        let owners: [MessageScope.Kind] = [.user, .group, .thing]
        guard let scope = criteria.scope else {
            guard isComplete || criteria.scopeID != nil else { return nil }
            let ids = criteria.scopeID.map { [$0] } ?? []
            let owned = owners.map { PossibleScope(kind: $0, ids: ids, mayLackID: false) }
            return criteria.scopeID == nil ? [PossibleScope(kind: .app, ids: [], mayLackID: false)] + owned : owned
        }
        return scope.alternatives.compactMap { alternative in
            switch alternative.kind {
            case .app: if criteria.scopeID != nil { return nil }
            case .unknown: if criteria.scopeID != nil || isComplete { return nil }
            case .user, .group, .thing: break
            }
            let ids = [alternative.id, criteria.scopeID].compactMap(\.self)
            if ids.count == 2, !ids[0].mayMeet(ids[1]) { return nil }
            return PossibleScope(kind: alternative.kind, ids: ids, mayLackID: ids.isEmpty && !isComplete)
        }
    }

    /// Whether a pattern takes every id that it can have.
    func idIsSurely(_ pattern: TextPattern) -> Bool {
        guard !mayLackID, kind != .app, kind != .unknown else { return false }
        return ids.isEmpty ? pattern.covers(.any) : ids.contains { pattern.covers($0) }
    }

    /// False only if a pattern takes none of the scopes that it can be.
    func mayBe(_ pattern: ScopePattern) -> Bool {
        pattern.alternatives.contains { alternative in
            alternative.kind == kind && (alternative.id.map { id in ids.allSatisfy { $0.mayMeet(id) } } ?? true)
        }
    }
}

/// The ids that a condition takes of each type of owner, as one pattern for each.
struct WantedOwners<Kind: Hashable> {
    /// What is taken of one type.
    enum IDs {
        /// With any id, or without one.
        case all
        case some(TextPattern)
    }

    private var kinds: [(kind: Kind, ids: IDs)] = []

    init(_ alternatives: [(kind: Kind, id: TextPattern?)]) {
        for (kind, id) in alternatives {
            guard let index = kinds.firstIndex(where: { $0.kind == kind }) else {
                kinds.append((kind, id.map { .some($0) } ?? .all))
                continue
            }
            if case .some(let earlier) = kinds[index].ids, let id {
                kinds[index].ids = .some(.anyOf([earlier, id]))
            } else {
                kinds[index].ids = .all
            }
        }
    }

    subscript(kind: Kind) -> IDs? { kinds.first { $0.kind == kind }?.ids }
}
