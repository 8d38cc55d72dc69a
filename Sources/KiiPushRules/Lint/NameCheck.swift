// Names that nothing in Kii's cloud can have: such a condition never holds, and such a write or push is refused.

import KiiCloud
import KiiPush

extension RulesLint {
    mutating func checkKiiNames(_ rule: RoutingRule) {
        let criteria = rule.criteria
        let names: [(String, KiiName, TextPattern?)] = [
            ("bucket", .bucket, criteria.bucket), ("object", .object, criteria.object),
            ("topic", .topic, criteria.topic),
        ]
        for (condition, kind, pattern) in names {
            for alternative in pattern?.alternatives ?? [] {
                guard let fault = kind.fault(pieces: alternative.literalPieces) else { continue }
                let text = Suggestion.shown(RuleText(alternative).text)
                let hint =
                    text.contains(exactly: "://")
                    ? "write the name alone, and its owner as 'scope'" : "the only wildcard is '*'"
                report(
                    .impossibleName, rule, at: condition,
                    "\(subject(rule)) asks for '\(text)', which Kii cannot have: \(fault); \(hint)")
                break
            }
        }
        let ids: [(String, [TextPattern?])] = [
            ("scopeID", [criteria.scopeID]), ("scope", criteria.scope?.alternatives.map(\.id) ?? []),
            ("sender", criteria.sender?.alternatives.map(\.id) ?? []),
        ]
        for (condition, patterns) in ids {
            for alternative in patterns.flatMap({ $0?.alternatives ?? [] }) {
                let text = RuleText(alternative).text
                let hasType = ["user:", "group:", "thing:"].contains { text.begins(exactlyWith: $0) }
                guard hasType || alternative.isOfNoID else { continue }
                let advice =
                    hasType && condition == "scopeID"
                    ? "write \"scope\": \(text.quotedAsJSON) instead" : "write the id alone, without a URI or spaces"
                report(
                    .impossibleName, rule, at: condition,
                    "\(subject(rule)) asks for '\(Suggestion.shown(text))', which is no id; \(advice)")
                break
            }
        }
    }

    /// Finds identities and served scopes that are no ids: no message is of them.
    mutating func checkSettingIDs() {
        let served = rules.serving?.alternatives.map { $0.id?.alternatives ?? [] } ?? []
        let settings: [(key: String, ids: [[TextPattern.Alternative]])] = [
            ("me", rules.me.map { [.exactly($0.id)] }), ("serving", served),
            ("writesAs", rules.writesAs.map { [.exactly($0.id)] }),
        ]
        for (key, ids) in settings {
            for (alternatives, position) in zip(ids, rules.positions[key] ?? []) {
                for alternative in alternatives where alternative.isOfNoID {
                    let text = Suggestion.shown(RuleText(alternative).text)
                    report(
                        .impossibleName, position, nil,
                        "'\(key)' names '\(text)', which is no id; write the id alone after its type, without a URI "
                            + "or spaces")
                }
            }
        }
    }

    mutating func checkTargets(_ rule: RoutingRule) {
        for target in rule.targets {
            let names: [(KiiName, String)] =
                switch target.uri.resource {
                case .none: []
                case .topic(let name): [(.topic, name)]
                case .bucket(let name, _): [(.bucket, name)]
                case .object(let bucket, _, let id): [(.bucket, bucket), (.object, id)]
                }
            // An owner's id may come before them.
            let pieces = target.template?.parts.suffix(names.count).map(\.literalPieces) ?? names.map { [$0.1] }
            for ((kind, text), pieces) in zip(names, pieces) {
                guard let fault = kind.fault(pieces: pieces) else { continue }
                report(
                    .impossibleName, target.position, rule.id,
                    "the rule \(name(rule)) writes to '\(Suggestion.shown(text))', which Kii cannot have: \(fault)")
            }
        }
    }
}

extension TextPattern.Alternative {
    /// The texts between the wildcards.
    fileprivate var literalPieces: [String] {
        switch self {
        case .exactly(let text): [text]
        case .pieces(let pieces): pieces
        }
    }

    /// Whether no id is like this.
    fileprivate var isOfNoID: Bool { literalPieces.contains(where: \.isOfNoID) }
}

extension String {
    fileprivate var isOfNoID: Bool { utf8.contains { $0 == UInt8(ascii: "/") || $0 <= UInt8(ascii: " ") } }
}
