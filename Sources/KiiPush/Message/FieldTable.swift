/// Where the values of Kii's fields stand, whatever their key style: one slot a field, absent unless it is usable.
///
/// Blank values count as absent, since a portal switch makes the server send unset keys blank. Numbers count as their
/// text. Anything else is a wrong type: absent, and remembered.
struct FieldTable {
    private var tokens = InlineArray<17, JSONToken>(repeating: .absent)

    /// The fields that are there and usable.
    private(set) var present: FieldSet = []

    /// The fields whose values have a type that they cannot have.
    private(set) var wrongTypes: FieldSet = []

    /// The time of the push, in milliseconds since 1970.
    private(set) var when: Int64?

    /// The time of the object's modification, in milliseconds since 1970.
    private(set) var modifiedAt: Int64?

    subscript(field: KiiField) -> JSONToken { tokens[Int(field.rawValue)] }

    /// No fields.
    init() {}

    /// Takes the `found` fields of `dialect` from the slots of the root's values.
    ///
    /// A value with escapes is put, unescaped, behind the payload in `buffer`, so that every token here is plain text.
    // The slots come as a span: whatever else reads an element of an `InlineArray` copies all of it first.
    init(_ slots: Span<JSONToken>, _ found: FieldSet, _ dialect: Dialect, _ buffer: inout [UInt8]) {
        var left = found
        while let field = left.popFirst() { take(slots[RootKey.of(field, in: dialect).slot], field, &buffer) }
    }

    @inline(__always)
    private mutating func take(_ token: JSONToken, _ field: KiiField, _ buffer: inout [UInt8]) {
        guard token.kind == .string || token.kind == .number else {
            wrongTypes.insert(field)
            return
        }
        var token = token
        if token.hasEscapes {
            let bytes = JSONString.unescaped(buffer.span, token.range)
            token = JSONToken(.string, buffer.count, buffer.count + bytes.count)
            buffer += bytes
        }
        let text = buffer.span
        if Self.isBlank(text, token.range) { return }
        if field.isTime {
            guard let time = JSONNumber.truncated(text, token.range) else {
                wrongTypes.insert(field)
                return
            }
            if field == .when { when = time } else { modifiedAt = time }
        }
        tokens[Int(field.rawValue)] = token
        present.insert(field)
    }

    @inline(__always)
    private static func isBlank(_ text: Span<UInt8>, _ range: Range<Int>) -> Bool {
        for index in range where text[index] > 0x20 { return false }
        return true
    }
}

/// A set of Kii's fields.
struct FieldSet: OptionSet, Hashable {
    let rawValue: UInt32

    init(rawValue: UInt32) { self.rawValue = rawValue }

    init(_ field: KiiField) { rawValue = 1 << UInt32(field.rawValue) }

    mutating func insert(_ field: KiiField) { formUnion(FieldSet(field)) }

    func contains(_ field: KiiField) -> Bool { contains(FieldSet(field)) }

    /// Takes out the first field in order; nil when there is none left.
    @inline(__always)
    mutating func popFirst() -> KiiField? {
        guard rawValue != 0 else { return nil }
        let field = KiiField(rawValue: UInt8(truncatingIfNeeded: rawValue.trailingZeroBitCount))
        self = FieldSet(rawValue: rawValue & (rawValue &- 1))
        return field
    }

    /// The keys that name a bucket: they make a Push to App in both key styles.
    static let bucketKeys: FieldSet = [FieldSet(.bucketID), FieldSet(.bucketType)]

    /// The keys that state a scope, which no one but Kii sends.
    static let scopeKeys: FieldSet = [
        FieldSet(.scopeType), FieldSet(.scopeAppID), FieldSet(.scopeUserID), FieldSet(.scopeGroupID),
        FieldSet(.scopeThingID),
    ]

    /// The keys that name an object: they make a Push to App on APNs only.
    static let objectKeys: FieldSet = [FieldSet(.objectID), FieldSet(.objectModifiedAt)]
}

extension KiiField {
    /// All fields, without the array that `allCases` makes anew each time.
    static let inOrder: [KiiField] = allCases
}
