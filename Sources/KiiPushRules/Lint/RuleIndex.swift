import KiiPush

/// Finds the earlier rules that could cover a later one, without comparing it with all others.
///
/// Each rule is indexed by the rarest text that its messages must equal or begin with. A rule that covers a later rule
/// is therefore indexed by a text that the later one requires, or by a prefix of it.
struct RuleIndex {
    private struct Key: Hashable {
        let field: Field
        let isWhole: Bool
        let text: ExactText
    }

    private enum Field: Hashable {
        case bucket
        case object
        case topic
        case owner
        case events
        case sender
        case transport
        case data(ExactText)
    }

    private var filed: [Key: [Int]] = [:]
    private var unfiled: [Int] = []
    /// The lengths of the indexed prefixes.
    private var lengths: Set<Int> = []

    /// Indexes rules by number; skips nil.
    init(_ profiles: [RuleProfile?]) {
        var uses: [Key: Int] = [:]
        let choices = profiles.map { $0.map { Self.choices($0.criteria) } ?? [] }
        for keys in choices.joined() {
            for key in keys { uses[key, default: 0] += 1 }
        }
        for (number, profile) in profiles.enumerated() where profile != nil {
            func commonest(_ keys: [Key]) -> Int { keys.map { uses[$0] ?? 0 }.max() ?? 0 }
            guard let rarest = choices[number].min(by: { commonest($0) < commonest($1) }) else {
                unfiled.append(number)
                continue
            }
            for key in Set(rarest) {
                filed[key, default: []].append(number)
                if !key.isWhole { lengths.insert(key.text.text.utf8.count) }
            }
        }
    }

    /// For each condition that requires a prefix: those prefixes, one for each alternative.
    private static func choices(_ criteria: RouteCriteria) -> [[Key]] {
        var choices: [[Key]] = []
        func add(_ field: Field, _ alternatives: [TextPattern.Alternative]?) {
            guard let alternatives, !alternatives.isEmpty else { return }
            let heads = alternatives.map(\.head)
            guard heads.allSatisfy({ $0.isWhole || !$0.text.isEmpty }) else { return }
            choices.append(heads.map { Key(field: field, isWhole: $0.isWhole, text: ExactText($0.text)) })
        }
        add(.bucket, criteria.bucket?.alternatives)
        add(.object, criteria.object?.alternatives)
        add(.topic, criteria.topic?.alternatives)
        add(.owner, criteria.scopeID?.alternatives)
        if let scope = criteria.scope, scope.alternatives.allSatisfy({ $0.id != nil }) {
            add(.owner, scope.alternatives.flatMap { $0.id?.alternatives ?? [] })
        }
        add(.events, criteria.events?.alternatives)
        add(.sender, criteria.sender?.alternatives.flatMap(\.id.alternatives))
        add(.transport, criteria.transport?.alternatives)
        for condition in criteria.data { add(.data(ExactText(condition.key)), condition.predicate.filedTexts) }
        return choices
    }

    /// The rules that may cover a rule, unordered; may contain duplicates.
    func candidates(for profile: RuleProfile) -> [Int] {
        var found = unfiled
        func look(_ field: Field, _ alternative: TextPattern.Alternative?) {
            guard let (text, isWhole) = alternative?.head else { return }
            if isWhole { found += filed[Key(field: field, isWhole: true, text: ExactText(text))] ?? [] }
            let bytes = text.utf8
            for length in lengths where length <= bytes.count {
                let beginning = ExactText(String(decoding: bytes.prefix(length), as: UTF8.self))
                found += filed[Key(field: field, isWhole: false, text: beginning)] ?? []
            }
        }
        // One alternative suffices: a rule that covers them all is indexed by a prefix of each.
        let criteria = profile.criteria
        look(.bucket, criteria.bucket?.alternatives.first)
        look(.object, criteria.object?.alternatives.first)
        look(.topic, criteria.topic?.alternatives.first)
        for pattern in profile.scopes?.first?.ids ?? [] { look(.owner, pattern.alternatives.first) }
        look(.events, criteria.events?.alternatives.first)
        look(.sender, criteria.sender?.alternatives.first?.id.alternatives.first)
        look(.transport, criteria.transport?.alternatives.first)
        for condition in criteria.data {
            for text in condition.predicate.lookedUpTexts { look(.data(ExactText(condition.key)), text) }
        }
        return found
    }
}

extension DataPredicate {
    /// The texts or prefixes that a value must have; nil if it need not have one.
    fileprivate var filedTexts: [TextPattern.Alternative]? {
        switch test {
        case .like(let pattern): return pattern.takesAnything ? nil : pattern.alternatives
        case .equals(let value): return value.filedText.map { [.exactly($0)] }
        case .anyOf(let values):
            let texts = values.compactMap(\.filedText)
            return texts.count == values.count ? texts.map { .exactly($0) } : nil
        case .prefix(let text): return [.pieces([text, ""])]
        case .any(let parts):
            let texts = parts.map(\.filedTexts)
            return texts.contains { $0 == nil } ? nil : texts.flatMap { $0 ?? [] }
        case .suffix, .greater, .less, .exists, .not, .all: return nil
        }
    }

    /// Texts of which every accepted value matches one; for several operators, those of each, and for the text of a
    /// number also its value's.
    fileprivate var lookedUpTexts: [TextPattern.Alternative] {
        switch test {
        case .all(let parts): parts.flatMap(\.lookedUpTexts)
        case .any(let parts): parts.first?.lookedUpTexts ?? []
        default:
            switch filedTexts?.first {
            case .exactly(let text)?:
                [.exactly(text)] + (DecimalText(text).map { [.exactly($0.canonical)] } ?? [])
            case let first: first.map { [$0] } ?? []
            }
        }
    }
}

extension DataValue {
    /// The text by which it is indexed: one for all spellings of a number; nil for null.
    fileprivate var filedText: String? {
        if case .number(let text) = self { DecimalText(text)?.canonical ?? text } else { string }
    }
}
