/// A condition on a value of the sender's data.
///
/// A literal matches the value itself: `"eco"`, `30`, `true`; a `*` in a string literal matches any run of characters,
/// and a list matches any of its elements. A number literal matches every number of the same value, to the last digit,
/// and a string that contains one, because FCM has only strings: `30` matches `30`, `30.0`, `3e1` and `"30.0"`. A
/// string literal matches by its text: `"30"` matches `"30"` and `30`, but not `30.0`, and `"007"` does not match `7`;
/// use one for an id with leading zeros or a version. For a missing key, only ``exists(_:)`` with false and ``not(_:)``
/// can hold.
public struct DataPredicate: Sendable, Hashable {
    package indirect enum Test: Sendable, Hashable {
        /// A pattern with one alternative, in which every `*` is a wildcard.
        case like(TextPattern)
        /// A string, number, boolean or null.
        case equals(DataValue)
        case anyOf([DataValue])
        case prefix(String)
        case suffix(String)
        /// Larger than a JSON number, given as text.
        case greater(String)
        case less(String)
        case exists(Bool)
        case not(DataPredicate)
        /// Operators of different names.
        case all([DataPredicate])
        case any([DataPredicate])
    }

    package let test: Test

    package init(_ test: Test) { self.test = test }

    // MARK: Making one

    /// The text matches a pattern; `*` alone only requires that the key exists.
    public static func matches(_ pattern: TextPattern) -> DataPredicate {
        // In the form of the rules file, so that a route that code declares prints like the equal rule.
        let parts = pattern.alternatives.map { alternative in
            switch alternative {
            case .exactly(let text) where text.utf8.contains(UInt8(ascii: "*")): equals(text)
            case .exactly, .pieces: DataPredicate(.like(TextPattern([alternative])))
            }
        }
        return parts.count == 1 ? parts[0] : DataPredicate(.any(parts))
    }

    /// The text equals this one; `*` has no special meaning.
    public static func equals(_ text: String) -> DataPredicate { DataPredicate(.equals(.string(text))) }
    /// The value is this number, however it is written, or a string that contains it.
    public static func equals(_ number: Int) -> DataPredicate { DataPredicate(.equals(.number(String(number)))) }
    /// The value is this boolean, or a string of the same text.
    public static func equals(_ bool: Bool) -> DataPredicate { DataPredicate(.equals(.bool(bool))) }
    /// The key exists, and its value is null.
    public static var null: DataPredicate { DataPredicate(.equals(.null)) }
    /// The text is one of these; `*` has no special meaning.
    public static func anyOf(_ texts: [String]) -> DataPredicate { DataPredicate(.anyOf(texts.map { .string($0) })) }
    /// The text begins with this one.
    public static func prefix(_ text: String) -> DataPredicate { DataPredicate(.prefix(text)) }
    /// The text ends with this one.
    public static func suffix(_ text: String) -> DataPredicate { DataPredicate(.suffix(text)) }
    /// The value is a number, or a string that holds one, and larger than this; compared without rounding.
    public static func greater(_ number: Int) -> DataPredicate { DataPredicate(.greater(String(number))) }
    /// The value is a number, or a string that holds one, and larger than this; compared without rounding.
    public static func greater(_ number: Double) -> DataPredicate { DataPredicate(.greater(text(of: number))) }
    /// The value is a number, or a string that holds one, and smaller than this; compared without rounding.
    public static func less(_ number: Int) -> DataPredicate { DataPredicate(.less(String(number))) }
    /// The value is a number, or a string that holds one, and smaller than this; compared without rounding.
    public static func less(_ number: Double) -> DataPredicate { DataPredicate(.less(text(of: number))) }
    /// The key exists, with any value; with false, it does not exist.
    public static func exists(_ isThere: Bool = true) -> DataPredicate { DataPredicate(.exists(isThere)) }
    /// The negation; holds for a missing key if `predicate` does not.
    public static func not(_ predicate: DataPredicate) -> DataPredicate { DataPredicate(.not(predicate)) }

    /// Any of several predicates.
    public static func any(_ predicates: [DataPredicate]) -> DataPredicate {
        predicates.count == 1 ? predicates[0] : DataPredicate(.any(predicates))
    }

    /// All of several predicates.
    public static func all(_ predicates: [DataPredicate]) -> DataPredicate {
        if predicates.count == 1 { return predicates[0] }
        let names = predicates.compactMap(\.operatorName)
        if names.count == predicates.count, Set(names).count == names.count, !names.isEmpty {
            return DataPredicate(.all(predicates))
        }
        // An object of a rules file has each operator once; other combinations are expressed by `not` and `any`.
        return .not(DataPredicate(.any(predicates.map { .not($0) })))
    }

    private static func text(of number: Double) -> String {
        precondition(!number.isNaN, "NaN is neither greater nor less than a number; compare with another one")
        return number.isFinite ? String(number) : number < 0 ? "-1e999" : "1e999"
    }

    /// Its operator in a rules file; nil for a bare value or list, and for several operators.
    package var operatorName: String? {
        switch test {
        case .like, .any, .all: nil
        case .equals: "equals"
        case .anyOf: "anyOf"
        case .prefix: "prefix"
        case .suffix: "suffix"
        case .greater: "greater"
        case .less: "less"
        case .exists: "exists"
        case .not: "not"
        }
    }

    package static let operators = ["equals", "anyOf", "prefix", "suffix", "greater", "less", "exists", "not"]
}

extension DataPredicate: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral
{
    /// The text matches a pattern in which `*` matches any run of characters.
    public init(stringLiteral pattern: String) { self = .matches(TextPattern(pattern)) }
    /// The value is this number, however it is written, or a string that contains it.
    public init(integerLiteral number: Int) { self = .equals(number) }
    /// The value is this boolean, or a string of the same text.
    public init(booleanLiteral bool: Bool) { self = .equals(bool) }
    /// Any of several predicates.
    public init(arrayLiteral predicates: DataPredicate...) { self = .any(predicates) }
}

/// A condition on one key of the sender's data, or on nested values.
///
/// ```swift
/// let hot: [DataCondition] = [.data("temp", .greater(30)), .data("mode", ["eco", "auto-*"])]
/// let nested: [DataCondition] = [.data("/rooms/*/temp", .greater(30))]
/// ```
public struct DataCondition: Sendable, Hashable {
    package let key: String
    package let predicate: DataPredicate
    /// The key as a pointer; nil for a root key.
    package let pointer: DataPointer?
    package var root: String { pointer?.root ?? key }

    package init(key: String, predicate: DataPredicate) {
        self.key = key
        self.predicate = predicate
        pointer = key.utf8.first == UInt8(ascii: "/") ? try? DataPointer(key) : nil
    }

    /// Makes a condition on the value of a key: a root key of the sender's own data, literally, in which a dot has no
    /// special meaning; or a JSON Pointer (RFC 6901), which begins with a slash.
    ///
    /// A pointer such as `/temp/value` or `/items/0/id` looks into objects and lists, and into strings that contain
    /// JSON. The part `*` means each element of a list, or each member of an object: the condition holds if it holds
    /// for one of them. A path that leads nowhere, such as one into an empty list, is a missing value. At most 32
    /// parts; a root key that itself begins with a slash is written as the pointer `/~1key`. A text that begins with a
    /// slash but is no pointer is a literal key.
    public static func data(_ key: String, _ predicate: DataPredicate) -> DataCondition {
        DataCondition(key: key, predicate: predicate)
    }

    /// Whether a message's data fulfils the condition.
    package func holds(for message: PushMessage) -> Bool { [self].hold(message.storage) }
}
