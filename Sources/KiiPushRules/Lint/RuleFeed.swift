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
    private var byBucket = RulesByName()
    private var byTopic = RulesByName()
    private var served: ServedScopes?
    /// The identities that this device shares with others.
    private let shared: [Sender]
    private var pairsLeft = Self.mostPairs
    private(set) var feeds: [RuleFeed] = []
    /// The rules that may feed each other have the same number; by rule.
    private(set) var groups: [Int] = []

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
            if profile.kinds.contains(KindSet(.pushToApp)) { byBucket.add(number, profile.criteria.bucket) }
            if profile.kinds.contains(KindSet(.pushToUser)) { byTopic.add(number, profile.criteria.topic) }
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
        groups = StrongComponents(count: profiles.count, edges: feeds.map { ($0.from, $0.to) }).numbers
        for (index, feed) in feeds.enumerated() { feeds[index].isInCycle = groups[feed.from] == groups[feed.to] }
    }

    /// Whether the loop guard drops every write of this device before it reaches a rule that requires the sender.
    private func isCut(_ profile: RuleProfile) -> Bool {
        guard let sender = profile.criteria.sender, !(rules.me.isEmpty && rules.writesAs.isEmpty) else { return false }
        return !shared.contains { sender.takes($0) }
    }

    /// The rules that may match the push of a write, up to the first that stops it.
    private mutating func takers(of target: RoutingRule.Target, by rule: RoutingRule) -> [Int] {
        guard pairsLeft > 0, let written = written(target, by: rule) else { return [] }
        let candidates =
            written.criteria.bucket.map(byBucket.candidates) ?? written.criteria.topic.map(byTopic.candidates)
        var takers: [Int] = []
        for number in candidates ?? [] {
            pairsLeft -= written.size * profiles[number].size
            guard pairsLeft > 0 else { break }
            guard profiles[number].mayTake(written) else { continue }
            takers.append(number)
            if rules.rules[number].options.flow == .stop, profiles[number].covers(written) { break }
        }
        return takers
    }

    /// The profile of a write's push; nil if it does not reach this receiver.
    private mutating func written(_ target: RoutingRule.Target, by rule: RoutingRule) -> RuleProfile? {
        if let app = rules.app, let other = target.uri.appID, !app.isExactly(other) { return nil }
        guard let criteria = target.criteria(of: rule.criteria) else { return nil }
        let profile = RuleProfile(criteria)
        if served?.mayServe(oneOf: profile.scopes ?? []) == false { return nil }
        return profile
    }
}

/// Rules by the exact names of buckets or topics that they require, and all the others.
private struct RulesByName {
    private var byName: [ExactText: [Int]] = [:]
    private var others: [Int] = []

    mutating func add(_ number: Int, _ pattern: TextPattern?) {
        guard let names = pattern?.exactTexts else { return others.append(number) }
        for name in Set(names.map { ExactText($0) }) { byName[name, default: []].append(number) }
    }

    /// The rules that may match a name that a pattern matches, in order.
    func candidates(_ pattern: TextPattern) -> [Int] {
        let known = pattern.exactTexts?.flatMap { byName[ExactText($0)] ?? [] } ?? Array(byName.values.joined())
        return Set(known).union(others).sorted()
    }
}

extension SenderPattern {
    func takes(_ identity: Sender) -> Bool {
        alternatives.contains { $0.kind == identity.kind && $0.id.matches(identity.id) }
    }
}

extension RoutingRules {
    /// Which rules match the pushes of rules' writes, in order of the writing rules; at most 200,000.
    ///
    /// Omits a rule that cannot receive the push because of its conditions, an earlier rule, the loop guard or
    /// `serving`.
    package var feeds: [RuleFeed] { RuleFeeds(self, rules.map { RuleProfile($0.criteria) }).feeds }
}
