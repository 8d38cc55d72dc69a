public import KiiPush

/// Keys and values, in order: a push's own data, or the fields of an object.
///
/// In a push, Kii accepts one level of strings, numbers and booleans. Other values can be added, but
/// ``OutgoingMessage/problems(sentTo:)`` reports them before the push is sent. Encode a structured value as JSON in a
/// string.
public struct KeyedData: Sendable {
    /// The members, each key once.
    public private(set) var members: [(key: String, value: DataValue)] = []

    /// No data.
    public init() {}

    /// Takes members in order; the last value of a duplicate key counts.
    public init(_ members: [(key: String, value: DataValue)]) {
        var positions: [ExactText: Int] = [:]
        for (key, value) in members {
            let position = positions[ExactText(key), default: self.members.count]
            if position < self.members.count {
                self.members[position].value = value
            } else {
                positions[ExactText(key)] = position
                self.members.append((key, value))
            }
        }
    }

    /// Whether it has no members.
    public var isEmpty: Bool { members.isEmpty }

    /// The value of a key; setting nil removes the key.
    public subscript(key: String) -> DataValue? {
        get { position(of: key).map { members[$0].value } }
        set {
            switch (position(of: key), newValue) {
            case (let position?, let value?): members[position].value = value
            case (let position?, nil): members.remove(at: position)
            case (nil, let value?): members.append((key, value))
            case (nil, nil): break
            }
        }
    }

    /// This data merged with another's, whose values win.
    package func merging(_ other: KeyedData) -> KeyedData {
        var merged = self
        for (key, value) in other.members { merged[key] = value }
        return merged
    }

    // Swift treats two spellings of one character as equal strings; in JSON they are two keys.
    private func position(of key: String) -> Int? { members.firstIndex { $0.key.isExactly(key) } }
}

extension KeyedData: Hashable {
    /// Whether two have the same members; their order does not count.
    public static func == (left: KeyedData, right: KeyedData) -> Bool {
        DataValue.object(left.members) == .object(right.members)
    }

    /// Hashes how many members there are.
    public func hash(into hasher: inout Hasher) { hasher.combine(members.count) }
}

extension KeyedData: ExpressibleByDictionaryLiteral {
    /// Takes members in order; the last value of a duplicate key counts.
    public init(dictionaryLiteral elements: (String, DataValue)...) {
        self.init(elements.map { (key: $0.0, value: $0.1) })
    }
}
