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
    /// Whether the messages carry no data, such as the events of Kii's own servers.
    var hasNoData = false

    private let wantedCertainty: UInt8
    private let wantedScopes: WantedOwners<MessageScope.Kind>?
    private let wantedSenders: WantedOwners<Classified.SenderKind>?

    init(_ criteria: RouteCriteria) {
        self.criteria = criteria
        wantedCertainty = criteria.certainty.reduce(0) { $0 | Self.bit($1) }
        var kinds = criteria.kinds
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
        wantedScopes = criteria.scope.map { WantedOwners($0.alternatives.map { ($0.kind, $0.id) }) }
        wantedSenders = criteria.sender.map { WantedOwners($0.alternatives.map { ($0.kind, $0.id) }) }
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

    /// Whether this rule provably matches every message that `other` matches.
    func covers(_ other: RuleProfile) -> Bool {
        guard criteria.kinds.isSuperset(of: other.kinds), other.certainty & ~wantedCertainty == 0 else { return false }
        let given = other.criteria
        return Self.covers(criteria.bucket, given.bucket, isThere: given.object != nil)
            && Self.covers(criteria.object, given.object)
            && Self.covers(criteria.topic, given.topic)
            && Self.covers(criteria.events, given.events)
            && Self.covers(criteria.transport, given.transport)
            && coversScopes(of: other) && coversSenders(of: other) && coversData(of: other)
    }

    private static func covers(_ wanted: TextPattern?, _ given: TextPattern?, isThere: Bool = false) -> Bool {
        guard let wanted else { return true }
        guard let given else { return isThere && wanted.covers(.any) }
        return wanted.covers(given)
    }

    private func coversScopes(of other: RuleProfile) -> Bool {
        guard wantedScopes != nil || criteria.scopeID != nil else { return true }
        guard let scopes = other.scopes else { return false }
        return scopes.allSatisfy { scope in
            if let wanted = criteria.scopeID, !scope.idIsSurely(wanted) { return false }
            guard let wantedScopes else { return true }
            switch wantedScopes[scope.kind] {
            case nil: return false
            case .all?: return true
            case .some(let wanted)?: return scope.idIsSurely(wanted)
            }
        }
    }

    private func coversSenders(of other: RuleProfile) -> Bool {
        guard let wantedSenders else { return true }
        guard let sender = other.criteria.sender else { return false }
        return sender.alternatives.allSatisfy { alternative in
            switch wantedSenders[alternative.kind] {
            case nil: false
            case .all?: true
            case .some(let wanted)?: wanted.covers(alternative.id)
            }
        }
    }

    private func coversData(of other: RuleProfile) -> Bool {
        criteria.data.allSatisfy { wanted in
            if other.hasNoData { return DataSample.missing.meets(wanted.predicate) }
            var proof = DataProof()
            let given = other.criteria.data.first { $0.key.isExactly(wanted.key) }
            return given.map { proof.implies($0.predicate, wanted.predicate) } ?? proof.alwaysHolds(wanted.predicate)
        }
    }

    // MARK: Overlap

    /// False only if no message matches both; ignores data, except for messages that have none.
    func mayMeet(_ other: RuleProfile) -> Bool {
        func mayMeet(_ left: TextPattern?, _ right: TextPattern?) -> Bool {
            guard let left, let right else { return true }
            return left.mayMeet(right)
        }
        let theirs = other.criteria
        guard !kinds.isDisjoint(with: other.kinds), certainty & other.certainty != 0,
            mayMeet(criteria.bucket, theirs.bucket), mayMeet(criteria.object, theirs.object),
            mayMeet(criteria.topic, theirs.topic), mayMeet(criteria.events, theirs.events),
            mayMeet(criteria.transport, theirs.transport)
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
