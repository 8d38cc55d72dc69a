/// Iterates over the members of an object that was checked before, for values that are read on demand.
package struct ObjectMembers {
    private var reader: JSONReader
    private var isFirst = true

    /// Begins at the object at `offset`, by default the payload's own.
    package init(_ text: Span<UInt8>, at offset: Int = 0) {
        reader = JSONReader(at: offset, limits: .checked)
        if reader.peek(text) == UInt8(ascii: "{") { reader.advance() }
    }

    package mutating func next(_ text: Span<UInt8>) -> (key: JSONToken, value: JSONToken)? {
        // Checked text cannot fail again; if it did, the object would end here.
        guard let key = try? reader.nextKey(text, isFirst: isFirst)?.token,
            let value = try? reader.readValue(text, depth: 1)
        else { return nil }
        isFirst = false
        return (key, value)
    }

    static func value(of name: String, _ text: Span<UInt8>) -> DataValue? {
        token(of: name, text).map { DataValue(text, $0) }
    }

    /// The token of a member's value in the object at `offset`, by default the payload's own; nil without one.
    static func token(of name: String, _ text: Span<UInt8>, at offset: Int = 0) -> JSONToken? {
        let wanted = name.utf8.span
        var members = ObjectMembers(text, at: offset)
        while let (key, value) = members.next(text) {
            if key.matches(wanted, in: text) { return value }
        }
        return nil
    }
}

extension JSONReader {
    /// Advances to the next element of an array that was checked before; false if the array ends instead.
    ///
    /// Call it with `isFirst` right after the opening bracket; at the end, the reader is after the closing one.
    package mutating func nextElement(_ text: Span<UInt8>, isFirst: Bool) -> Bool {
        guard let byte = peek(text) else { return false }
        let isEnd = byte == UInt8(ascii: "]")
        if isEnd || !isFirst { advance() }
        return !isEnd
    }
}

extension JSONToken {
    package init(only text: Span<UInt8>, _ limits: PayloadLimits) throws(DecodeError) {
        guard text.count <= limits.bytes else { throw limits.tooLarge }
        var reader = JSONReader(limits: limits)
        guard reader.peek(text) != nil else { throw DecodeError(.empty, at: 0, "there is nothing to read") }
        self = try reader.readValue(text, depth: 0)
        guard reader.peek(text) == nil else { throw reader.unexpected(text, "the end") }
    }
}

extension PayloadLimits {
    /// For text that was read within its limits before.
    package static let checked = PayloadLimits(bytes: .max, depth: 64, members: .max)
    static let ofString = PayloadLimits(bytes: 16 << 20)
}
