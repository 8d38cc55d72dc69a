import KiiPush

/// The combined conditions of a rule, ready for comparison with other rules.
struct RuleProfile {
    let criteria: RouteCriteria
    /// The kinds that all conditions together allow.
    let kinds: KindSet
    /// The certainties that they allow, one bit each.
    let certainty: UInt8
    /// The scopes that they allow; nil for any, or none.
    let scopes: [PossibleScope]?
    /// The number of its buckets, objects, topics or ids, whichever is largest; at least 1.
    let size: Int
    /// Whether the messages carry no data, such as the events of Kii's own servers.
    var hasNoData = false

    init(_ criteria: RouteCriteria) {
        self.criteria = criteria
        let wantedCertainty: UInt8 = criteria.certainty.reduce(0) { $0 | Self.bit($1) }
        var kinds = criteria.possibleKinds
        if criteria.bucket != nil || criteria.object != nil { kinds.formIntersection(KindSet(.pushToApp)) }
        if criteria.topic != nil { kinds.formIntersection(KindSet(.pushToUser)) }
        // Likely are a Direct Push by absence and a Push to User without its topic.
        var ofLikely = KindSet(.directPush)
        if criteria.topic == nil { ofLikely.formUnion(KindSet(.pushToUser)) }
        if wantedCertainty == Self.bit(.likely) { kinds.formIntersection(ofLikely) }
        // A Direct Push that states another scope than the app's is always ambiguous.
        let mayBeApps = criteria.scopeID == nil && criteria.scope?.alternatives.contains { $0.kind == .app } != false
        if !mayBeApps, wantedCertainty & Self.bit(.ambiguous) == 0 { kinds.subtract(KindSet(.directPush)) }
        self.kinds = kinds
        certainty = kinds.isDisjoint(with: ofLikely) ? wantedCertainty & ~Self.bit(.likely) : wantedCertainty
        scopes = PossibleScope.all(of: criteria)
        let ids = (scopes ?? []).reduce(0) { $0 + $1.ids.reduce(0) { $0 + $1.alternatives.count } }
        let names = [criteria.bucket, criteria.object, criteria.topic].map { $0?.alternatives.count ?? 1 }
        size = names.reduce(ids) { max($0, $1) }
    }

    private static func bit(_ certainty: Certainty) -> UInt8 {
        switch certainty {
        case .certain: 1
        case .likely: 2
        case .ambiguous: 4
        }
    }

    /// Whether the conditions, apart from those on data, exclude every message.
    var isEmpty: Bool { kinds.isEmpty || certainty == 0 || scopes?.isEmpty == true }

    // MARK: Containment

    /// Whether this rule surely matches every push of a write, which has one scope and states no sender.
    func takesAll(of written: RuleProfile) -> Bool {
        let given = written.criteria
        guard criteria.kinds.isSuperset(of: written.kinds), given.certainty.allSatisfy(criteria.certainty.contains),
            criteria.events == nil, criteria.sender == nil, criteria.transport == nil, criteria.format == nil,
            criteria.type == nil, criteria.command == nil, criteria.mqtt == nil, !criteria.isGap,
            criteria.groups.isEmpty
        else { return false }
        return Self.covers(criteria.bucket, given.bucket) && Self.covers(criteria.object, given.object)
            && Self.covers(criteria.topic, given.topic) && coversScopes(of: given)
            && criteria.data.allSatisfy { condition in
                written.hasNoData
                    ? DataSample.missing.meets(condition.predicate) : condition.predicate.alwaysHolds
            }
    }

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

    // MARK: Overlap

    /// False only if no message matches both; ignores combined conditions, and data except for messages without any.
    func mayMeet(_ other: RuleProfile) -> Bool {
        func mayMeet(_ left: TextPattern?, _ right: TextPattern?) -> Bool {
            guard let left, let right else { return true }
            return left.mayMeet(right)
        }
        let theirs = other.criteria
        guard criteria.isGap == theirs.isGap, !kinds.isDisjoint(with: other.kinds), certainty & other.certainty != 0,
            mayMeet(criteria.bucket, theirs.bucket), mayMeet(criteria.object, theirs.object),
            mayMeet(criteria.topic, theirs.topic), mayMeet(criteria.events, theirs.events),
            mayMeet(criteria.transport, theirs.transport), mayMeet(criteria.format, theirs.format),
            mayMeet(criteria.type, theirs.type)
        else { return false }
        if let scopes, let others = other.scopes {
            let haveCommon = scopes.contains { mine in
                others.contains { their in
                    mine.kind == their.kind
                        && mine.ids.allSatisfy { id in their.ids.allSatisfy { id.mayMeet($0) } }
                }
            }
            guard haveCommon else { return false }
        }
        return !other.hasNoData || criteria.data.allSatisfy { DataSample.missing.meets($0.predicate) }
    }
}
