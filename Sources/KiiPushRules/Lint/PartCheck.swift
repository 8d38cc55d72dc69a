// Checks the parts of combined conditions, each as a rule of its own.

import KiiPush

extension RulesLint {
    /// Checks the parts of combined conditions; returns whether one of the combined conditions surely never holds.
    mutating func checkParts(_ rule: RoutingRule, _ kinds: KindSet) -> Bool {
        var isNever = false
        for group in rule.criteria.groups {
            let before = findings.count
            let parts = rule.parts(of: group, kinds)
            // Of each, for a mistake in it is worth a finding anyway.
            let never = parts.map { checkPart($0) }
            switch group.combining {
            case .any where !never.contains(false), .all where never.contains(true):
                isNever = true
                guard rule.part == nil else { continue }
                report(
                    .neverMatches, position(group.combining.rawValue, of: rule), rule.id,
                    "\(subject(rule)) never matches: its '\(group.combining.rawValue)' never holds")
            case .any, .all: continue
            case .not:
                let isAlways = never.contains(true)
                findings =
                    findings[..<before]
                    + findings[before...].filter { $0.code != .neverHolds }
                guard isAlways else { continue }
                report(
                    .alwaysHolds, position("not", of: rule), rule.id,
                    "no message meets these conditions, so 'not' always holds; leave it out")
            }
        }
        return isNever
    }

    /// Checks one part as if it were a rule; returns whether it surely never holds.
    private mutating func checkPart(_ part: RoutingRule) -> Bool {
        let profile = RuleProfile(part.criteria)
        let before = findings.count
        checkKinds(part, profile)
        checkScopes(part, profile)
        checkSender(part)
        checkData(part, profile)
        let isNever = findings[before...].contains { $0.code == .neverMatches }
        for index in findings.indices[before...] where findings[index].severity == .error {
            findings[index] = findings[index].with(.neverHolds)
        }
        checkNames(part, profile)
        checkKiiNames(part)
        return checkParts(part, profile.kinds) || isNever
    }
}

extension RoutingRule {
    /// The parts of a combined condition as rules of their own, which also have the kinds and certainties around them.
    fileprivate func parts(of group: ConditionGroup, _ kinds: KindSet) -> [RoutingRule] {
        group.paths(group.combining.rawValue).map { path, criteria in
            var part = self
            part.criteria = criteria
            part.criteria.kinds.formIntersection(kinds)
            part.criteria.certainty = self.criteria.certainty
            part.part = (self.part.map { "\($0)/" } ?? "") + path.dropLast()
            part.conditions = conditions.filter { $0.name.begins(exactlyWith: path) }.map { condition in
                Condition(
                    name: condition.name.droppingFirst(bytes: path.utf8.count), key: condition.key,
                    position: condition.position)
            }
            return part
        }
    }
}
