import KiiPush

/// Finds rules whose messages earlier rules take completely.
struct ShadowCheck {
    /// Why a rule, or a part of it, gets no messages.
    struct Shadow {
        /// The rules that take them, in order.
        let rules: [Int]
        /// Whether a single one of them takes them all.
        let isWhole: Bool
    }

    /// The most pairs of rules that are compared; ten thousand ordinary rules need about ten thousand.
    private static let mostPairs = 4_000_000

    private let profiles: [RuleProfile]
    private let index: RuleIndex
    private var pairsLeft = Self.mostPairs

    /// Whether all pairs were compared.
    var isComplete: Bool { pairsLeft > 0 }

    /// How many pairs of rules were compared.
    var pairs: Int { Self.mostPairs - pairsLeft }

    /// Prepares the check.
    ///
    /// - Parameters:
    ///   - profiles: all rules, in order.
    ///   - isLast: for each rule, whether it stops a message and can match one at all.
    init(_ profiles: [RuleProfile], isLast: (Int) -> Bool) {
        self.profiles = profiles
        index = RuleIndex(profiles.indices.map { isLast($0) ? profiles[$0] : nil })
    }

    /// The first rule before `number` that matches everything that `profile` matches.
    mutating func rule(before number: Int, covering profile: RuleProfile) -> Int? {
        var first: Int?
        for candidate in index.candidates(for: profile) where candidate < min(number, first ?? number) {
            guard pairsLeft > 0 else { return nil }
            pairsLeft -= 1
            if profiles[candidate].covers(profile) { first = candidate }
        }
        return first
    }

    /// Why a rule gets no message, if earlier rules are the reason.
    mutating func shadow(of number: Int) -> Shadow? {
        let profile = profiles[number]
        if let earlier = rule(before: number, covering: profile) { return Shadow(rules: [earlier], isWhole: true) }
        guard let parts = profile.criteria.parts(of: profile) else { return nil }
        var rules: Set<Int> = []
        var hasPart = false
        for criteria in parts {
            let part = RuleProfile(criteria)
            // An impossible part needs no cover.
            if part.isEmpty { continue }
            hasPart = true
            guard let earlier = rule(before: number, covering: part) else { return nil }
            rules.insert(earlier)
        }
        return hasPart ? Shadow(rules: rules.sorted(), isWhole: false) : nil
    }

    /// The texts of a rule's lists whose messages earlier rules all take, each with the first such rule.
    mutating func deadTexts(of number: Int) -> [(condition: WhenCondition, index: Int, rule: Int)] {
        var dead: [(WhenCondition, Int, Int)] = []
        let criteria = profiles[number].criteria
        for condition in WhenCondition.allCases {
            let alternatives = criteria.alternatives(of: condition)
            guard alternatives.count > 1, alternatives.count <= RouteCriteria.mostParts else { continue }
            for (index, alternative) in alternatives.enumerated() {
                let part = RuleProfile(alternative(criteria))
                guard !part.isEmpty, let rule = rule(before: number, covering: part) else { continue }
                dead.append((condition, index, rule))
            }
        }
        return dead
    }
}
