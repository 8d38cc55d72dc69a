import KiiPush

/// Proves relations of data predicates without a message: one implies another, or they exclude each other.
///
/// A predicate sees a value as missing, null, a container or a text; a number or boolean counts as its text. A number
/// that a predicate names has many texts, of which another predicate may match some. True is proved; false also means
/// "unknown". A step limit bounds the work.
struct DataProof {
    private var stepsLeft: Int

    init(steps: Int = 4000) { stepsLeft = steps }

    private mutating func mayGoOn() -> Bool {
        stepsLeft -= 1
        return stepsLeft > 0
    }

    // MARK: Implication

    /// Whether `conclusion` holds for every value that `premise` holds for.
    mutating func implies(_ premise: DataPredicate, _ conclusion: DataPredicate) -> Bool {
        guard mayGoOn() else { return false }
        if let values = values(of: premise) {
            if values.allSatisfy({ !$0.mayMeet(premise) || $0.meets(conclusion) }) { return true }
            if !values.contains(where: \.isNumber) { return false }
        }
        if case .any(let parts) = premise.test { return all(parts) { $0.implies($1, conclusion) } }
        switch conclusion.test {
        case .all(let parts): return all(parts) { $0.implies(premise, $1) }
        case .any(let parts): if some(parts, { $0.implies(premise, $1) }) { return true }
        case .not(let inner): if excludes(premise, inner) { return true }
        default: break
        }
        switch premise.test {
        case .all(let parts): if some(parts, { $0.implies($1, conclusion) }) { return true }
        case .not(let inner): if impliesByNegation(inner, conclusion) { return true }
        default: if premise.isSurelyWithin(conclusion) { return true }
        }
        return alwaysHolds(conclusion)
    }

    private mutating func impliesByNegation(_ inner: DataPredicate, _ conclusion: DataPredicate) -> Bool {
        switch inner.test {
        case .not(let twice): return implies(twice, conclusion)
        case .exists(let isThere): return implies(.exists(!isThere), conclusion)
        case .any(let parts): return some(parts) { $0.implies(.not($1), conclusion) }
        case .all(let parts): return all(parts) { $0.implies(.not($1), conclusion) }
        default:
            guard case .not(let other) = conclusion.test else { return false }
            return implies(other, inner)
        }
    }

    // MARK: Exclusion

    /// Whether no value satisfies both.
    mutating func excludes(_ left: DataPredicate, _ right: DataPredicate) -> Bool {
        guard mayGoOn() else { return false }
        for (one, other) in [(left, right), (right, left)] {
            guard let values = values(of: one) else { continue }
            if !values.contains(where: { $0.mayMeet(one) && $0.mayMeet(other) }) { return true }
            if !values.contains(where: \.isNumber) { return false }
        }
        for (one, other) in [(left, right), (right, left)] {
            switch one.test {
            case .any(let parts): return all(parts) { $0.excludes($1, other) }
            case .all(let parts): if some(parts, { $0.excludes($1, other) }) { return true }
            case .not(let inner): if implies(other, inner) { return true }
            default: break
            }
        }
        return left.isSurelyOutside(right) || right.isSurelyOutside(left)
    }

    // MARK: Constant predicates

    /// Whether no value satisfies the predicate, and a missing one does not either.
    mutating func neverHolds(_ predicate: DataPredicate) -> Bool {
        guard mayGoOn() else { return false }
        if let values = values(of: predicate) {
            if !values.contains(where: { $0.mayMeet(predicate) }) { return true }
            if !values.contains(where: \.isNumber) { return false }
        }
        switch predicate.test {
        case .any(let parts): return all(parts) { $0.neverHolds($1) }
        case .all(let parts):
            if some(parts, { $0.neverHolds($1) }) { return true }
            for (number, part) in parts.enumerated() where stepsLeft > 0 {
                if some(Array(parts[(number + 1)...]), { $0.excludes(part, $1) }) { return true }
            }
            return false
        case .not(let inner): return alwaysHolds(inner)
        default: return false
        }
    }

    /// Whether every value satisfies the predicate, and a missing one does too.
    mutating func alwaysHolds(_ predicate: DataPredicate) -> Bool {
        guard mayGoOn() else { return false }
        switch predicate.test {
        case .not(let inner): return neverHolds(inner)
        case .all(let parts): return all(parts) { $0.alwaysHolds($1) }
        case .any(let parts):
            if some(parts, { $0.alwaysHolds($1) }) { return true }
            for (number, part) in parts.enumerated() where stepsLeft > 0 {
                if some(Array(parts[(number + 1)...]), { $0.implies(.not(part), $1) }) { return true }
            }
            return false
        default: return false
        }
    }

    // MARK: Parts

    private mutating func all(
        _ parts: [DataPredicate], _ isSo: (inout DataProof, DataPredicate) -> Bool
    ) -> Bool {
        for part in parts where !isSo(&self, part) { return false }
        return true
    }

    private mutating func some(
        _ parts: [DataPredicate], _ isSo: (inout DataProof, DataPredicate) -> Bool
    ) -> Bool {
        for part in parts where isSo(&self, part) { return true }
        return false
    }

    /// All values that may satisfy a predicate, if they can be listed; some may not.
    private mutating func values(of predicate: DataPredicate) -> [DataSample]? {
        guard mayGoOn() else { return nil }
        switch predicate.test {
        case .equals(let value): return [DataSample(value)]
        case .anyOf(let values):
            stepsLeft -= values.count
            return values.map { DataSample($0) }
        case .like(let pattern): return pattern.exactTexts?.map { .text($0) }
        case .exists(let isThere): return isThere ? nil : [.missing]
        case .all(let parts):
            for part in parts { if let values = values(of: part) { return values } }
            return nil
        case .any(let parts):
            var all: [DataSample] = []
            for part in parts {
                guard let values = values(of: part) else { return nil }
                all += values
            }
            return all
        case .not(let inner):
            if case .exists(true) = inner.test { return [.missing] }
            if case .not(let twice) = inner.test { return values(of: twice) }
            return nil
        case .prefix, .suffix, .greater, .less: return nil
        }
    }
}

/// One value that a key of the data may have.
enum DataSample {
    case missing
    case null
    case text(String)
    /// Any text of a number of this value.
    case number(String)

    init(_ value: DataValue) {
        if case .number(let text) = value {
            self = .number(text)
        } else {
            self = value.string.map { .text($0) } ?? .null
        }
    }

    var isNumber: Bool { if case .number = self { true } else { false } }

    /// Whether the predicate holds for it; for a number, in every spelling.
    func meets(_ predicate: DataPredicate) -> Bool { answer(predicate) == true }

    /// False only if the predicate does not hold for it; for a number, in no spelling.
    func mayMeet(_ predicate: DataPredicate) -> Bool { answer(predicate) != false }

    /// nil if some spellings of a number may meet the predicate, and others not.
    private func answer(_ predicate: DataPredicate) -> Bool? {
        switch self {
        case .missing: predicate.holds("".utf8.span, .absent)
        case .null: predicate.holds("null".utf8.span, JSONToken(.null, 0, 4))
        case .text(let text): predicate.holds(text.utf8.span, JSONToken(.string, 0, text.utf8.count))
        case .number(let text): Self.answer(predicate, ofNumber: text)
        }
    }

    private static func answer(_ predicate: DataPredicate, ofNumber number: String) -> Bool? {
        func any(_ parts: [DataPredicate]) -> Bool? {
            let answers = parts.map { answer($0, ofNumber: number) }
            return answers.contains(true) ? true : answers.contains(nil) ? nil : false
        }
        switch predicate.test {
        case .not(let inner): return answer(inner, ofNumber: number).map { !$0 }
        case .any(let parts): return any(parts)
        case .all(let parts): return any(parts.map { .not($0) }).map { !$0 }
        case .anyOf(let values): return any(values.map { DataPredicate(.equals($0)) })
        case .like(let pattern) where pattern.takesAnything: return true
        case .like, .prefix, .suffix, .equals(.string):
            return predicate.textPattern?.mayBeNumber(number) == true ? nil : false
        case .equals, .greater, .less, .exists:
            return predicate.holds(number.utf8.span, JSONToken(.number, 0, number.utf8.count))
        }
    }
}

extension DataPredicate {
    /// The pattern of the text, if the predicate requires a text, a prefix, a suffix or a pattern.
    var textPattern: TextPattern? {
        switch test {
        case .equals(.string(let text)): .exactly(text)
        case .like(let pattern): pattern.takesAnything ? nil : pattern
        case .prefix(let text): TextPattern([.pieces([text, ""])])
        case .suffix(let text): TextPattern([.pieces(["", text])])
        default: nil
        }
    }

    /// Whether this predicate implies another one; it must have no parts.
    fileprivate func isSurelyWithin(_ other: DataPredicate) -> Bool {
        switch (test, other.test) {
        case (_, .exists(true)): return asksForPresence
        case (_, .like(let pattern)) where pattern.takesAnything: return asksForPresence
        case (.greater(let mine), .greater(let theirs)): return !Self.isLess(mine, theirs)
        case (.less(let mine), .less(let theirs)): return !Self.isLess(theirs, mine)
        default:
            guard let mine = textPattern, let theirs = other.textPattern else { return false }
            return theirs.covers(mine)
        }
    }

    /// Whether no text satisfies both predicates; neither may have parts.
    fileprivate func isSurelyOutside(_ other: DataPredicate) -> Bool {
        switch (test, other.test) {
        case (.greater(let low), .less(let high)): return !Self.isLess(low, high)
        case (.greater, _), (.less, _): return other.textPattern.map { !$0.mayBeNumber() } ?? false
        default:
            guard let mine = textPattern, let theirs = other.textPattern else { return false }
            return !mine.mayMeet(theirs)
        }
    }

    /// Whether a missing value fails it; for predicates without parts.
    private var asksForPresence: Bool {
        switch test {
        case .like, .equals, .anyOf, .prefix, .suffix, .greater, .less, .exists(true): true
        case .exists, .not, .all, .any: false
        }
    }

    private static func isLess(_ left: String, _ right: String) -> Bool {
        guard let left = DecimalText(left), let right = DecimalText(right) else { return true }
        return left < right
    }
}

extension TextPattern {
    /// False only if it matches no JSON number, or none of the given value: a number begins with a digit or a minus and
    /// ends with a digit.
    fileprivate func mayBeNumber(_ number: String? = nil) -> Bool {
        alternatives.contains { alternative in
            switch alternative {
            case .exactly(let text): DecimalText.areEqual(text.utf8.span, 0..<text.utf8.count, number ?? text)
            case .pieces(let pieces):
                (pieces.first?.utf8.first.map { $0.isDigit || $0 == UInt8(ascii: "-") } ?? true)
                    && (pieces.last?.utf8.last?.isDigit ?? true)
            }
        }
    }
}
