/// Iterates over the members of an object that the reader has checked before.
///
/// For values that are read on demand: a sender's data, Apple's dictionary, nested values.
package struct ObjectMembers {
    private var reader: JSONReader
    private var isFirst = true

    /// Begins at the object at `offset`, by default the payload's own.
    package init(_ text: Span<UInt8>, at offset: Int = 0, limits: PayloadLimits = .checked) {
        reader = JSONReader(at: offset, limits: limits)
        if reader.peek(text) == UInt8(ascii: "{") { reader.advance() }
    }

    /// The next member, or nil after the last one.
    package mutating func next(_ text: Span<UInt8>) -> (key: JSONToken, value: JSONToken)? {
        // Checked text cannot fail again; if it did, the object would end here.
        guard let key = try? reader.nextKey(text, isFirst: isFirst),
            let value = try? reader.readValue(text, depth: 1)
        else { return nil }
        isFirst = false
        return (key, value)
    }

    /// The value of a root member; nil without one.
    static func value(of name: String, _ text: Span<UInt8>) -> DataValue? {
        token(of: name, text).map { DataValue(text, $0) }
    }

    /// The token of a root member's value; nil without one.
    static func token(of name: String, _ text: Span<UInt8>) -> JSONToken? {
        let wanted = name.utf8.span
        var members = ObjectMembers(text)
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

extension PayloadLimits {
    /// For text that was read within its limits before.
    package static let checked = PayloadLimits(bytes: .max, depth: 64, members: .max)
}
