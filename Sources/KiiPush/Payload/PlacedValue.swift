/// A JSON value and its position in a text, for files that people edit: errors are reported with a position.
///
/// Its contents are read on demand, so what nobody asks for costs nothing.
package struct PlacedValue {
    package struct Member {
        package let key: String
        package let keyOffset: Int
        package let value: PlacedValue
    }

    private let bytes: [UInt8]
    package let token: JSONToken

    /// Reads a whole text by the same strict rules as a payload; its root may be any value.
    package init(_ bytes: [UInt8], limits: PayloadLimits) throws(DecodeError) {
        self.init(bytes, try JSONToken(only: bytes.span, limits))
    }

    package init(_ bytes: [UInt8], _ token: JSONToken) { (self.bytes, self.token) = (bytes, token) }

    /// The position of its first byte: of a string, the opening quote.
    package var offset: Int { Int(token.start) - (token.kind == .string ? 1 : 0) }

    package var value: DataValue { DataValue(bytes.span, token) }

    /// The members of an object in order, including duplicate keys; nil for any other value.
    package var members: [Member]? {
        guard token.kind == .object else { return nil }
        let text = bytes.span
        var found: [Member] = []
        var members = ObjectMembers(text, at: offset)
        while let (key, value) = members.next(text) {
            let place = Int(key.start) - 1
            found.append(Member(key: key.string(in: text), keyOffset: place, value: PlacedValue(bytes, value)))
        }
        return found
    }

    package var elements: [PlacedValue]? {
        guard token.kind == .array else { return nil }
        let text = bytes.span
        var found: [PlacedValue] = []
        var reader = JSONReader(at: offset, limits: .checked)
        reader.advance()
        while reader.nextElement(text, isFirst: found.isEmpty), let token = try? reader.readValue(text, depth: 1) {
            found.append(PlacedValue(bytes, token))
        }
        return found
    }
}
