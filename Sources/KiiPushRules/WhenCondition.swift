// The conditions of a route, and their text as the rules file writes them.

import KiiPush

extension RouteCriteria {
    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            for condition in WhenCondition.allCases where condition.isSet(in: self) {
                writer.key(condition.rawValue)
                condition.write(self, to: &writer)
            }
            if !data.isEmpty {
                writer.member("data") { writer in
                    for condition in data {
                        writer.key(condition.key)
                        condition.predicate.write(to: &writer)
                    }
                }
            }
            for group in groups {
                writer.key(group.combining.rawValue)
                group.write(to: &writer)
            }
        }
    }

    /// Its conditions in the order of evaluation; a rule's own ones always include the certainty.
    func conditions(isRoot: Bool) -> [RuleCondition] {
        WhenCondition.allCases.filter { isRoot && $0 == .certainty || $0.isSet(in: self) }.map { .key($0) }
            + data.map { .data($0) } + groups.map { .group($0) }
    }
}

/// One condition of a rule, as `when` writes it: a key, a key of `data`, or several combined.
enum RuleCondition {
    case key(WhenCondition)
    case data(DataCondition)
    case group(ConditionGroup)

    /// The key of `when`.
    var name: String {
        switch self {
        case .key(let condition): condition.rawValue
        case .data: "data"
        case .group(let group): group.combining.rawValue
        }
    }

    var key: String? { if case .data(let condition) = self { condition.key } else { nil } }

    /// What it requires, as the rules file writes it.
    func text(_ criteria: RouteCriteria) -> String {
        var writer = JSONWriter()
        switch self {
        case .key(let condition): condition.write(criteria, to: &writer)
        case .data(let condition): condition.predicate.write(to: &writer)
        case .group(let group): group.write(to: &writer)
        }
        return writer.text
    }
}

extension ConditionGroup {
    /// The conditions of each part, with its path in `when`, such as `any/0`.
    func paths(_ name: String) -> [(path: String, criteria: RouteCriteria)] {
        parts.enumerated().map { number, part in
            (path: combining == .not ? "\(name)/" : "\(name)/\(number)/", criteria: part)
        }
    }

    /// Writes the list of its parts; of `not`, the part.
    func write(to writer: inout JSONWriter) {
        if combining == .not, let part = parts.first { return part.write(to: &writer) }
        writer.array { writer in
            for part in parts { part.write(to: &writer) }
        }
    }
}

/// The keys of `when` that look at one field, in the order of printing, explanation and evaluation.
package enum WhenCondition: String, CaseIterable {
    case kind
    case bucket
    case object
    case topic
    case scope
    case scopeID
    case events
    case sender
    case format
    case type
    case command
    case transport
    case mqtt
    case certainty

    /// The property of a condition that is one pattern, and what its texts are, for errors; nil for another condition.
    var pattern: (path: WritableKeyPath<RouteCriteria, TextPattern?>, words: String)? {
        switch self {
        case .bucket: (\.bucket, "the name of a bucket")
        case .object: (\.object, "the id of an object")
        case .topic: (\.topic, "the name of a topic")
        case .scopeID: (\.scopeID, "the id of a scope")
        case .events: (\.events, "the name of an event")
        case .format: (\.format, "the name of a format")
        case .type: (\.type, "the type of a format's push")
        case .command: (\.command, "the name of an action")
        case .transport: (\.transport, "the name of a transport")
        case .kind, .scope, .sender, .mqtt, .certainty: nil
        }
    }

    /// Whether a route has a condition for this key.
    func isSet(in criteria: RouteCriteria) -> Bool {
        switch self {
        case .kind: criteria.kinds != .all
        case .scope: criteria.scope != nil
        case .sender: criteria.sender != nil
        case .mqtt: criteria.mqtt != nil
        case .certainty: criteria.certainty != [.certain, .likely]
        default: pattern.map { criteria[keyPath: $0.path] != nil } ?? false
        }
    }

    func write(_ criteria: RouteCriteria, to writer: inout JSONWriter) {
        switch self {
        case .kind: writer.texts(criteria.kinds.kinds.map { RuleText($0.rawValue) })
        case .scope: writer.texts(criteria.scope?.ruleTexts ?? [])
        case .sender: writer.texts(criteria.sender?.ruleTexts ?? [])
        case .mqtt: criteria.mqtt?.write(to: &writer)
        case .certainty: writer.texts(criteria.certainty.map { RuleText($0.rawValue) })
        default: writer.pattern(pattern.flatMap { criteria[keyPath: $0.path] })
        }
    }
}

/// A text as the rules file writes it: plain, or as `{"equals": …}`, in which a star is literal.
struct RuleText {
    let text: String
    let isExact: Bool

    init(_ text: String, isExact: Bool = false) {
        self.text = text
        self.isExact = isExact
    }

    init(_ alternative: TextPattern.Alternative, prefix: String = "") {
        switch alternative {
        case .exactly(let text): self.init(prefix + text, isExact: text.utf8.contains(UInt8(ascii: "*")))
        case .pieces(let pieces): self.init(prefix + pieces.joined(separator: "*"))
        }
    }
}

extension ScopePattern {
    fileprivate var ruleTexts: [RuleText] {
        // The alternative that matches an unknown type comes with those of all known ones: together they are the star.
        if alternatives.contains(where: { $0.kind == .unknown }) { return [RuleText("*")] }
        return alternatives.flatMap { alternative -> [RuleText] in
            let names: (type: String, owner: String) =
                switch alternative.kind {
                case .app, .unknown: ("APP", "")
                case .user: ("APP_AND_USER", "user:")
                case .group: ("APP_AND_GROUP", "group:")
                case .thing: ("APP_AND_THING", "thing:")
                }
            return alternative.id?.alternatives.map { RuleText($0, prefix: names.owner) } ?? [RuleText(names.type)]
        }
    }
}

extension SenderPattern {
    fileprivate var ruleTexts: [RuleText] {
        alternatives.flatMap { alternative in
            let prefix: String =
                switch alternative.kind {
                case .none, .user: "user:"
                case .thing: "thing:"
                case .admin: "admin:"
                }
            return alternative.id.alternatives.map { RuleText($0, prefix: prefix) }
        }
    }
}

extension JSONWriter {
    mutating func pattern(_ pattern: TextPattern?) {
        texts(pattern?.alternatives.map { RuleText($0) } ?? [])
    }

    /// Writes a single text plain, several as a list.
    fileprivate mutating func texts(_ texts: [RuleText]) {
        if texts.count == 1 { return text(texts[0]) }
        array { writer in
            for text in texts { writer.text(text) }
        }
    }

    private mutating func text(_ text: RuleText) {
        guard text.isExact else { return string(text.text) }
        object { $0.member("equals", text.text) }
    }
}

extension DataPredicate {
    func write(to writer: inout JSONWriter) {
        switch test {
        case .like(let pattern): writer.pattern(pattern)
        case .equals(.string), .anyOf, .prefix, .suffix, .greater, .less, .exists, .not:
            writer.object { writeOperator(to: &$0) }
        case .equals(let value): writer.value(value)
        case .all(let predicates):
            writer.object { writer in
                for predicate in predicates { predicate.writeOperator(to: &writer) }
            }
        case .any(let predicates):
            writer.array { writer in
                for predicate in predicates { predicate.write(to: &writer) }
            }
        }
    }

    private func writeOperator(to writer: inout JSONWriter) {
        guard let operatorName else { return }
        writer.key(operatorName)
        switch test {
        case .equals(let value): writer.value(value)
        case .anyOf(let values): writer.value(.array(values))
        case .prefix(let text), .suffix(let text): writer.string(text)
        case .greater(let number), .less(let number): writer.value(.number(number))
        case .exists(let isThere): writer.bool(isThere)
        case .not(let predicate): predicate.write(to: &writer)
        case .like, .all, .any: break
        }
    }
}
