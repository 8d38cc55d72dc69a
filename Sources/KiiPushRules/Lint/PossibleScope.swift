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

    /// False only if a pattern matches none of the scopes that it can be.
    func mayBe(_ pattern: ScopePattern) -> Bool {
        pattern.alternatives.contains { alternative in
            alternative.kind == kind && (alternative.id.map { id in ids.allSatisfy { $0.mayMeet(id) } } ?? true)
        }
    }
}
