import KiiPush

/// One scope that messages of a rule can have: its type, and constraints on its id.
struct PossibleScope {
    let kind: MessageScope.Kind
    /// Patterns of the id, all of which hold; the conditions `scope` and `scopeID` may each add one.
    let ids: [TextPattern]
    /// Whether the id may be missing.
    let mayLackID: Bool

    /// The most pairs of a scope and a scope's id, one of them a pattern, that are compared; of more, each may meet.
    private static let mostPairs = 10_000

    /// Whether a rule has more pairs than are compared.
    static func hasTooManyPairs(_ criteria: RouteCriteria) -> Bool {
        guard let scope = criteria.scope, let scopeID = criteria.scopeID else { return false }
        return scope.alternatives.count * scopeID.alternatives.count > mostPairs
            && (scope.exactIDs == nil || scopeID.exactTexts == nil)
    }

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
        let texts = criteria.scopeID?.exactTexts.map { Set($0.map { ExactText($0) }) }
        let isTooLong = hasTooManyPairs(criteria)
        func mayMeet(_ id: TextPattern, _ scopeID: TextPattern) -> Bool {
            if let texts, let own = id.exactTexts { return own.contains { texts.contains(ExactText($0)) } }
            return isTooLong || id.mayMeet(scopeID)
        }
        return scope.alternatives.compactMap { alternative in
            switch alternative.kind {
            case .app: if criteria.scopeID != nil { return nil }
            case .unknown: if criteria.scopeID != nil || isComplete { return nil }
            case .user, .group, .thing: break
            }
            let ids = [alternative.id, criteria.scopeID].compactMap(\.self)
            if ids.count == 2, !mayMeet(ids[0], ids[1]) { return nil }
            return PossibleScope(kind: alternative.kind, ids: ids, mayLackID: ids.isEmpty && !isComplete)
        }
    }
}

/// The scopes of `serving`, for comparison with those of many rules.
struct ServedScopes {
    /// The most ids that are compared with a pattern.
    private static let mostPairs = 1_000_000

    private var texts: [MessageScope.Kind: Set<ExactText>] = [:]
    private var patterns: [MessageScope.Kind: [TextPattern]] = [:]
    private var pairsLeft = mostPairs

    /// Whether all were compared.
    var isComplete: Bool { pairsLeft > 0 }

    init(_ serving: ScopePattern) {
        for scope in serving.alternatives {
            for id in (scope.id ?? .any).alternatives {
                if case .exactly(let text) = id {
                    texts[scope.kind, default: []].insert(ExactText(text))
                } else {
                    patterns[scope.kind, default: []].append(TextPattern([id]))
                }
            }
        }
    }

    /// False only if none of these scopes is served.
    mutating func mayServe(oneOf scopes: [PossibleScope]) -> Bool { scopes.contains { mayServe($0) } }

    private mutating func mayServe(_ scope: PossibleScope) -> Bool {
        let texts = texts[scope.kind] ?? []
        let patterns = patterns[scope.kind] ?? []
        guard let first = scope.ids.first else { return !texts.isEmpty || !patterns.isEmpty }
        if let own = first.exactTexts {
            let served = own.filter { texts.contains(ExactText($0)) }
            if served.contains(where: { mayMeet(.exactly($0), scope.ids.dropFirst()) }) { return true }
        } else if texts.contains(where: { mayMeet(.exactly($0.text), scope.ids[...]) }) {
            return true
        }
        return patterns.contains { mayMeet($0, scope.ids[...]) }
    }

    private mutating func mayMeet(_ served: TextPattern, _ ids: ArraySlice<TextPattern>) -> Bool {
        pairsLeft -= ids.reduce(0) { $0 + $1.alternatives.count }
        return pairsLeft <= 0 || ids.allSatisfy { $0.mayMeet(served) }
    }
}
