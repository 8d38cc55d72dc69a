import KiiPush

/// The combined conditions of a rule, ready for comparison with other rules.
struct RuleProfile {
    let criteria: RouteCriteria
    /// The kinds that all conditions together allow.
    let kinds: KindSet
    /// The certainties that they allow.
    let certainty: [Certainty]
    /// The scopes that they allow; nil for any, or none.
    let scopes: [PossibleScope]?
    /// The number of texts of its longest pattern, or of its ids; at least 1.
    let size: Int
    private var patterns: [(path: WritableKeyPath<RouteCriteria, TextPattern?>, pattern: TextPattern)] = []
    /// The conditions that are no patterns, as the rules file writes them.
    private var texts: Set<ExactText> = []
    private var scope: ExactText?
    /// For each condition that lists what it matches, the list; a rule that this one covers has one text of each.
    private(set) var lists: [[ExactText]] = []

    init(_ criteria: RouteCriteria) {
        self.criteria = criteria
        var kinds = criteria.possibleKinds
        if criteria.bucket != nil || criteria.object != nil { kinds.formIntersection(KindSet(.pushToApp)) }
        if criteria.topic != nil { kinds.formIntersection(KindSet(.pushToUser)) }
        // Likely are a Direct Push by absence and a Push to User without its topic.
        var ofLikely = KindSet(.directPush)
        if criteria.topic == nil { ofLikely.formUnion(KindSet(.pushToUser)) }
        if criteria.certainty == [.likely] { kinds.formIntersection(ofLikely) }
        // A Direct Push that states another scope than the app's is always ambiguous.
        let mayBeApps = criteria.scopeID == nil && criteria.scope?.alternatives.contains { $0.kind == .app } != false
        if !mayBeApps, !criteria.certainty.contains(.ambiguous) { kinds.subtract(KindSet(.directPush)) }
        self.kinds = kinds
        let mayBeLikely = !kinds.isDisjoint(with: ofLikely)
        certainty = criteria.certainty.filter { mayBeLikely || $0 != .likely }
        scopes = PossibleScope.all(of: criteria)
        let ids = (scopes ?? []).reduce(0) { $0 + $1.ids.reduce(0) { $0 + $1.alternatives.count } }
        let all = WhenCondition.allCases.compactMap { $0.pattern.flatMap { criteria[keyPath: $0.path] } }
        size = all.reduce(max(1, ids)) { max($0, $1.alternatives.count) }
        for condition in criteria.conditions(isRoot: false) { add(condition) }
    }

    private mutating func add(_ condition: RuleCondition) {
        func label(_ text: String) -> ExactText {
            ExactText("\(condition.name) \(condition.key?.quotedAsJSON ?? "") \(text)")
        }
        switch condition {
        case .key(.kind), .key(.certainty), .key(.scopeID): break
        case .key(.scope): scope = label(condition.text(criteria))
        // A star alone has a meaning of its own in a command.
        case .key(let key) where key != .command && key.pattern != nil:
            guard let path = key.pattern?.path, let pattern = criteria[keyPath: path] else { return }
            patterns.append((path, pattern))
            if let texts = pattern.exactTexts { lists.append(texts.map(label)) }
        case .key, .data, .group:
            let text = label(condition.text(criteria))
            texts.insert(text)
            lists.append([text])
        }
    }

    /// Whether the messages carry no data: Kii's servers add none to a Push to App.
    var hasNoData: Bool { kinds == KindSet(.pushToApp) }

    /// Whether the conditions, apart from those on data, exclude every message.
    var isEmpty: Bool { kinds.isEmpty || certainty.isEmpty || scopes?.isEmpty == true }

    // MARK: Comparison

    /// Whether this rule surely matches every message that the other one matches; compares patterns, but no ranges.
    func covers(_ other: RuleProfile) -> Bool {
        let given = other.criteria
        return criteria.isGap == given.isGap && criteria.kinds.isSuperset(of: other.kinds)
            && other.certainty.allSatisfy(criteria.certainty.contains) && texts.isSubset(of: other.texts)
            && patterns.allSatisfy { Self.covers($0.pattern, given[keyPath: $0.path]) }
            && ((scope == nil || scope == other.scope) && Self.covers(criteria.scopeID, given.scopeID)
                || coversScopes(of: given))
    }

    /// Whether surely no message meets both; ignores combined conditions.
    ///
    /// What holds for certain messages holds for all. Very long patterns are not compared.
    func contradicts(_ around: RuleProfile) -> Bool {
        isShort(with: around) && [self, around].allSatisfy { !$0.criteria.isGap && $0.certainty.contains(.certain) }
            && !mayTake(around)
    }

    /// Whether every message that meets the others surely meets these; very long patterns are not compared.
    func includes(_ around: RuleProfile) -> Bool { isShort(with: around) && covers(around) }

    private func isShort(with other: RuleProfile) -> Bool { size * other.size <= 10_000 }

    /// Whether a pattern surely matches what another one matches.
    private static func covers(_ wanted: TextPattern?, _ given: TextPattern?) -> Bool {
        guard let wanted else { return true }
        return given.map { wanted.covers($0) } ?? false
    }

    private func coversScopes(of given: RouteCriteria) -> Bool {
        guard criteria.scope != nil || criteria.scopeID != nil else { return true }
        return given.scope?.alternatives.allSatisfy { scope in
            guard Self.covers(criteria.scopeID, scope.id) else { return false }
            guard let wanted = criteria.scope?.alternatives.filter({ $0.kind == scope.kind }) else { return true }
            // Each of the ids that the owner can have may match another text of the list.
            let ids = scope.id?.alternatives.map { TextPattern([$0]) } ?? []
            return wanted.contains { $0.id == nil }
                || !ids.isEmpty && ids.allSatisfy { id in wanted.contains { Self.covers($0.id, id) } }
        } ?? false
    }

    /// False only if this rule matches no push of a write; ignores combined conditions.
    func mayTake(_ written: RuleProfile) -> Bool {
        let given = written.criteria
        // Of an event with two names and of a command's several actions, two patterns may match different ones.
        let compared: [WhenCondition] = [.bucket, .object, .topic, .format, .type, .transport]
        let mayMeet = compared.compactMap(\.pattern?.path).allSatisfy { path in
            guard let left = criteria[keyPath: path], let right = given[keyPath: path] else { return true }
            return left.mayMeet(right)
        }
        guard mayMeet, !criteria.isGap, !kinds.isDisjoint(with: written.kinds), certainty.contains(.certain) else {
            return false
        }
        if let scopes, let others = written.scopes {
            let haveCommon = scopes.contains { mine in others.contains { mine.mayBe($0) } }
            guard haveCommon else { return false }
        }
        return !written.hasNoData || criteria.data.allSatisfy { DataSample.missing.meets($0.predicate) }
    }
}

/// One scope that messages of a rule can have: its type, and constraints on its id.
struct PossibleScope {
    let kind: MessageScope.Kind
    /// Patterns of the id, all of which hold; the conditions `scope` and `scopeID` may each add one.
    let ids: [TextPattern]
    let mayLackID: Bool

    /// False only if no scope is both.
    func mayBe(_ other: PossibleScope) -> Bool {
        kind == other.kind && ids.allSatisfy { id in other.ids.allSatisfy { id.mayMeet($0) } }
    }

    /// The most pairs of a scope and a scope's id of one rule that are compared; of more, each may meet.
    private static let mostPairs = 10_000

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
        let isTooLong = scope.alternatives.count * (criteria.scopeID?.alternatives.count ?? 0) > mostPairs
        return scope.alternatives.compactMap { alternative in
            switch alternative.kind {
            case .app: if criteria.scopeID != nil { return nil }
            case .unknown: if criteria.scopeID != nil || isComplete { return nil }
            case .user, .group, .thing: break
            }
            let ids = [alternative.id, criteria.scopeID].compactMap(\.self)
            if ids.count == 2, !isTooLong, !ids[0].mayMeet(ids[1]) { return nil }
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

extension TextPattern {
    /// False only if no text matches both.
    func mayMeet(_ other: TextPattern) -> Bool {
        alternatives.contains { mine in other.alternatives.contains { mine.mayMeet($0) } }
    }
}

extension TextPattern.Alternative {
    /// False only if no text matches both.
    fileprivate func mayMeet(_ other: Self) -> Bool {
        switch (self, other) {
        case (.exactly(let text), _): return TextPattern([other]).matches(text)
        case (_, .exactly(let text)): return TextPattern([self]).matches(text)
        case (.pieces(let mine), .pieces(let theirs)):
            // Only the anchored ends are compared.
            return Self.agree(mine.first, theirs.first) && Self.agree(mine.last, theirs.last, fromEnd: true)
        }
    }

    private static func agree(_ left: String?, _ right: String?, fromEnd: Bool = false) -> Bool {
        guard let left, let right else { return true }
        if fromEnd { return zip(left.utf8.reversed(), right.utf8.reversed()).allSatisfy { $0 == $1 } }
        return zip(left.utf8, right.utf8).allSatisfy { $0 == $1 }
    }
}

extension TextPattern {
    /// Whether this pattern matches every text that `other` matches.
    func covers(_ other: TextPattern) -> Bool { takesAnything || other.alternatives.allSatisfy(covers) }

    private func covers(_ alternative: Alternative) -> Bool {
        switch alternative {
        case .exactly(let text): return matches(text)
        case .pieces(let pieces):
            // A star is tried as a byte that UTF-8 never uses: only a star can match it, and a star matches anything.
            let bytes = Array(pieces.map { Array($0.utf8) }.joined(separator: [0xFF]))
            return matches(bytes.span, 0..<bytes.count)
        }
    }
}
