/// The positions of the values of Kii's fields, in either key style: one slot for each field, absent unless it is
/// usable.
///
/// Blank values count as absent, because a portal setting makes the server send unset keys blank. Numbers count as
/// their text. Null counts as absent, like a missing key. Any other value is of a wrong type: absent, and recorded.
struct FieldTable {
    private var tokens = InlineArray<17, JSONToken>(repeating: .absent)
    private(set) var present: FieldSet = []

    private(set) var wrongTypes: FieldSet = []

    private(set) var when: Int64?
    private(set) var modifiedAt: Int64?

    subscript(field: KiiField) -> JSONToken { tokens[Int(field.rawValue)] }

    init() {}

    /// Takes the `found` fields of `dialect` from the slots of the root's values.
    ///
    /// A value with escapes is appended, unescaped, to the payload in `buffer`, so that every token here is plain text.
    // A span of slots, because other ways to read an element of an `InlineArray` copy all of it first. And not an
    // initialiser, which builds its 170 bytes elsewhere and copies them.
    mutating func take(_ slots: Span<JSONToken>, _ found: FieldSet, _ dialect: Dialect, _ buffer: inout [UInt8]) {
        var unusual = takePlain(slots, found, dialect, buffer.span)
        while let number = unusual.popFirst() {
            take(slots[RootKey.slot(ofField: number, in: dialect)], number, &buffer)
        }
        when = time(.when, buffer.span)
        modifiedAt = time(.objectModifiedAt, buffer.span)
    }

    /// Takes the plain values, which nearly all are; returns the fields of the others.
    private mutating func takePlain(
        _ slots: Span<JSONToken>, _ found: FieldSet, _ dialect: Dialect, _ text: Span<UInt8>
    ) -> FieldSet {
        var left = found
        while let number = left.popFirst() {
            let token = slots[RootKey.slot(ofField: number, in: dialect)]
            guard token.isPlainText, token.length > 0, text[Int(token.start)] > 0x20 else { continue }
            tokens[number] = token
            present.formUnion(FieldSet(number))
        }
        return found.subtracting(present)
    }

    /// Takes a value that may need unescaping, be blank, or have a wrong type.
    private mutating func take(_ token: JSONToken, _ number: Int, _ buffer: inout [UInt8]) {
        guard token.kind == .string || token.kind == .number else {
            if token.kind != .null { wrongTypes.formUnion(FieldSet(number)) }
            return
        }
        var token = token
        if token.hasEscapes {
            let bytes = JSONString.unescaped(buffer.span, token.range)
            token = JSONToken(.string, buffer.count, buffer.count + bytes.count)
            buffer += bytes
        }
        let text = buffer.span
        guard token.range.contains(where: { text[$0] > 0x20 }) else { return }
        tokens[number] = token
        present.formUnion(FieldSet(number))
    }

    /// The time that a field states; any other value is of a wrong type.
    private mutating func time(_ field: KiiField, _ text: Span<UInt8>) -> Int64? {
        guard present.contains(field) else { return nil }
        if let time = JSONNumber.truncated(text, self[field].range) { return time }
        tokens[Int(field.rawValue)] = .absent
        present.remove(FieldSet(field))
        wrongTypes.insert(field)
        return nil
    }
}

struct FieldSet: OptionSet, Hashable {
    let rawValue: UInt32

    init(rawValue: UInt32) { self.rawValue = rawValue }

    init(_ field: KiiField) { rawValue = 1 << UInt32(field.rawValue) }

    mutating func insert(_ field: KiiField) { formUnion(FieldSet(field)) }

    /// The field of a raw value, as `popFirst` returns it.
    init(_ number: Int) { rawValue = 1 &<< UInt32(truncatingIfNeeded: number) }

    func contains(_ field: KiiField) -> Bool { contains(FieldSet(field)) }

    /// Removes the first field in order and returns its raw value; nil if none is left.
    mutating func popFirst() -> Int? {
        guard rawValue != 0 else { return nil }
        let number = rawValue.trailingZeroBitCount
        self = FieldSet(rawValue: rawValue & (rawValue &- 1))
        return number
    }

    /// The keys that name a bucket: they identify a Push to App in both key styles.
    static let bucketKeys: FieldSet = [FieldSet(.bucketID), FieldSet(.bucketType)]

    /// The keys that state a scope, which only Kii sends.
    static let scopeKeys: FieldSet = [
        FieldSet(.scopeType), FieldSet(.scopeAppID), FieldSet(.scopeUserID), FieldSet(.scopeGroupID),
        FieldSet(.scopeThingID),
    ]

    static let resourceKeys = bucketKeys.union(scopeKeys)

    /// The keys, in either style, that hardly anybody but Kii sends.
    static let telling: FieldSet = [resourceKeys, objectKeys, FieldSet(.topic)]

    /// The keys that prove nothing of Kii when they stand alone.
    static let ofOthers: FieldSet = [FieldSet(.topic), FieldSet(.type)]

    static let scopeOwners: FieldSet = [FieldSet(.scopeUserID), FieldSet(.scopeGroupID), FieldSet(.scopeThingID)]

    /// The keys that name an object: they identify a Push to App on APNs only.
    static let objectKeys: FieldSet = [FieldSet(.objectID), FieldSet(.objectModifiedAt)]
}
