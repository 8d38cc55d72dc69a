// Predicates on data that never or always hold, found by trying the values that a predicate lists.

import KiiPush

extension DataPredicate {
    /// Whether the predicate lists its values, and none of them satisfies it; false also means "unknown".
    ///
    /// Ranges, prefixes and suffixes list no values.
    var neverHolds: Bool {
        var steps = 4000
        return values(isNegated: false, &steps)?.contains { $0.mayMeet(self) } == false
    }

    /// Whether every value satisfies the predicate, and a missing one does too; false also means "unknown".
    var alwaysHolds: Bool { DataPredicate.not(self).neverHolds }

    /// All values that may satisfy the predicate, or fail it, if they can be listed; some may not.
    private func values(isNegated: Bool, _ steps: inout Int) -> [DataSample]? {
        steps -= 1
        guard steps > 0 else { return nil }
        switch (test, isNegated) {
        case (.equals(let value), false): return [DataSample(value)]
        case (.anyOf(let values), false):
            steps -= values.count
            return steps > 0 ? values.map { DataSample($0) } : nil
        case (.like(let pattern), false): return pattern.exactTexts?.map { .text($0) }
        case (.exists(let isThere), _): return isThere == isNegated ? [.missing] : nil
        case (.not(let inner), _): return inner.values(isNegated: !isNegated, &steps)
        case (.all(let parts), false), (.any(let parts), true):
            for part in parts { if let values = part.values(isNegated: isNegated, &steps) { return values } }
            return nil
        case (.any(let parts), false), (.all(let parts), true):
            var all: [DataSample] = []
            for part in parts {
                guard let values = part.values(isNegated: isNegated, &steps) else { return nil }
                all += values
            }
            return all
        default: return nil
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
        case .like, .prefix, .suffix, .equals(.string): return nil
        case .equals, .greater, .less, .exists:
            return predicate.holds(number.utf8.span, JSONToken(.number, 0, number.utf8.count))
        }
    }
}
