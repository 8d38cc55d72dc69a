import KiiPush

/// One scope that messages of a rule can have: its type, and constraints on its id.
struct PossibleScope {
    let kind: MessageScope.Kind
    /// Patterns of the id, all of which hold; the conditions `scope` and `scopeID` may each add one.
    let ids: [TextPattern]
    /// Whether the id may be missing.
    let mayLackID: Bool

    /// The scopes that a rule's messages can have; nil if its conditions do not restrict them, empty if they exclude
    /// all.
    static func all(of criteria: RouteCriteria) -> [PossibleScope]? {
        // A bucket, object or topic requires a complete scope.
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

    /// Whether a pattern matches every id that it can have.
    func idIsSurely(_ pattern: TextPattern) -> Bool {
        guard !mayLackID, kind != .app, kind != .unknown else { return false }
        return ids.isEmpty ? pattern.covers(.any) : ids.contains { pattern.covers($0) }
    }

    /// False only if a pattern matches none of the scopes that it can be.
    func mayBe(_ pattern: ScopePattern) -> Bool {
        pattern.alternatives.contains { alternative in
            alternative.kind == kind && (alternative.id.map { id in ids.allSatisfy { $0.mayMeet(id) } } ?? true)
        }
    }
}

/// The ids that a condition accepts for each type of owner, one pattern each.
struct WantedOwners<Kind: Hashable> {
    /// The accepted ids of one type.
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
