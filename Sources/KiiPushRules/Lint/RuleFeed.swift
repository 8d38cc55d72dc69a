package import KiiPush

/// A write of one rule whose push may match another rule, or the same one.
package struct RuleFeed: Sendable, Hashable {
    /// The index of the rule that writes, from 0.
    package let from: Int
    /// The index of the rule that matches the push.
    package let to: Int
    package let target: KiiURI
    /// Whether a chain of such writes leads back to the rule that writes.
    package internal(set) var isInCycle: Bool
}

/// Which rules match the pushes that rules' writes cause; both declared writes and rules' own count.
///
/// A write to a bucket or an object causes a Push to App about it, a write to a topic a Push to User. Kii adds no data
/// to a Push to App, and its payload names this device as the sender.
struct RuleFeeds {
    /// The most pairs of a name or id of a write and one of a rule that are compared.
    private static let mostPairs = 4_000_000

    /// The most feeds that are kept.
    private static let mostFeeds = 200_000

    private let rules: RoutingRules
    private let profiles: [RuleProfile]
    /// The rules that require exact buckets or topics, indexed by those, and all the others.
    private var byBucket: [ExactText: [Int]] = [:]
    private var byTopic: [ExactText: [Int]] = [:]
    private var otherBuckets: [Int] = []
    private var otherTopics: [Int] = []
    private var served: ServedScopes?
    /// The identities that this device shares with others.
    private let shared: [Sender]
    private var pairsLeft = Self.mostPairs
    private(set) var feeds: [RuleFeed] = []

    /// Whether all pairs were compared.
    var isComplete: Bool { pairsLeft > 0 && feeds.count < Self.mostFeeds && served?.isComplete != false }

    init(_ rules: RoutingRules, _ profiles: [RuleProfile]) {
        self.rules = rules
        self.profiles = profiles
        served = rules.serving.map { ServedScopes($0) }
        let me = Set(rules.me)
        shared = rules.writesAs.filter { !me.contains($0) }
        guard rules.rules.contains(where: { !$0.writes.isEmpty || $0.ownTarget != nil }) else { return }
        for (number, profile) in profiles.enumerated() where !profile.isEmpty && !isCut(profile) {
            if profile.kinds.contains(KindSet(.pushToApp)) {
                Self.file(number, profile.criteria.bucket, &byBucket, &otherBuckets)
            }
            if profile.kinds.contains(KindSet(.pushToUser)) {
                Self.file(number, profile.criteria.topic, &byTopic, &otherTopics)
            }
        }
        var known: [KiiURI: [Int]] = [:]
        for (number, rule) in rules.rules.enumerated() {
            for target in rule.targets where feeds.count < Self.mostFeeds {
                // Placeholders depend on the rule.
                let isFixed = target.template?.fields.isEmpty ?? true
                let takers = (isFixed ? known[target.uri] : nil) ?? self.takers(of: target, by: rule)
                if isFixed { known[target.uri] = takers }
                feeds += takers.map { RuleFeed(from: number, to: $0, target: target.uri, isInCycle: false) }
            }
        }
        let components = StrongComponents(count: profiles.count, edges: feeds.map { ($0.from, $0.to) })
        for index in feeds.indices {
            feeds[index].isInCycle = components.component(feeds[index].from) == components.component(feeds[index].to)
        }
    }

    private static func file(
        _ number: Int, _ pattern: TextPattern?, _ byText: inout [ExactText: [Int]], _ others: inout [Int]
    ) {
        guard let texts = pattern?.exactTexts else { return others.append(number) }
        for text in Set(texts.map { ExactText($0) }) { byText[text, default: []].append(number) }
    }

    /// Whether the loop guard drops every write of this device before it reaches a rule that requires the sender.
    private func isCut(_ profile: RuleProfile) -> Bool {
        guard let sender = profile.criteria.sender, !(rules.me.isEmpty && rules.writesAs.isEmpty) else {
            return false
        }
        return !shared.contains { sender.takes($0) }
    }

    /// The rules that may match the push of a write, up to the first that stops it.
    private mutating func takers(of target: RoutingRule.Target, by rule: RoutingRule) -> [Int] {
        guard pairsLeft > 0, let written = written(target, by: rule) else { return [] }
        let criteria = written.criteria
        let candidates: [Int]
        if let bucket = criteria.bucket {
            candidates = Self.candidates(bucket, byBucket, otherBuckets)
        } else if let topic = criteria.topic {
            candidates = Self.candidates(topic, byTopic, otherTopics)
        } else {
            return []
        }
        var takers: [Int] = []
        for number in candidates {
            pairsLeft -= written.size * profiles[number].size
            guard pairsLeft > 0 else { break }
            guard profiles[number].mayMeet(written) else { continue }
            takers.append(number)
            if rules.rules[number].flow == .stop, profiles[number].takesAll(of: written) { break }
        }
        return takers
    }

    /// The rules that may match a pattern.
    private static func candidates(
        _ pattern: TextPattern, _ byText: [ExactText: [Int]], _ others: [Int]
    ) -> [Int] {
        guard let texts = pattern.exactTexts else {
            return Set(byText.values.joined()).union(others).sorted()
        }
        return Set(texts.flatMap { byText[ExactText($0)] ?? [] }).union(others).sorted()
    }

    /// The profile of a write's push; nil if it does not reach this receiver.
    private mutating func written(_ target: RoutingRule.Target, by rule: RoutingRule) -> RuleProfile? {
        if let app = rules.app, let other = target.uri.appID, !app.isExactly(other) { return nil }
        guard let criteria = target.criteria(of: rule.criteria) else { return nil }
        var profile = RuleProfile(criteria)
        profile.hasNoData = profile.kinds == KindSet(.pushToApp)
        if served?.mayServe(oneOf: profile.scopes ?? []) == false { return nil }
        return profile
    }
}

extension SenderPattern {
    /// Whether the profile accepts an identity.
    func takes(_ identity: Sender) -> Bool {
        alternatives.contains { $0.kind == identity.kind && $0.id.matches(identity.id) }
    }
}

extension RoutingRules {
    /// Which rules match the pushes of rules' writes, declared ones and those of `write` and `send`, in order of the
    /// writing rules.
    ///
    /// At most 200,000. A write to a bucket or an object causes a Push to App about it, a write to a topic a Push to
    /// User. Omits a rule that cannot receive the push because of its conditions, an earlier rule, the loop guard or
    /// `serving`.
    package var feeds: [RuleFeed] { RuleFeeds(self, rules.map { RuleProfile($0.criteria) }).feeds }
}
