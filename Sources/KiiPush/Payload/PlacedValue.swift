/// A JSON value with its position in the text, for files that people edit: errors are reported with a position.
package struct PlacedValue {
    package enum Content {
        case string(String)
        /// A number, as written.
        case number(String)
        case bool(Bool)
        case null
        case array([PlacedValue])
        /// The members in order, including duplicate keys.
        case object([Member])
    }

    package struct Member {
        package let key: String
        /// The position of the key's opening quote.
        package let keyOffset: Int
        package let value: PlacedValue
    }

    package let content: Content

    /// The value's bytes in the text, including a string's quotes.
    package let range: Range<Int>

    /// Reads a whole text by the same strict rules as a payload; its root may be any value.
    package init(_ bytes: [UInt8], limits: PayloadLimits) throws(DecodeError) {
        let text = bytes.span
        _ = try JSONToken(only: text, limits)
        var reader = JSONReader(limits: .checked)
        try self.init(text, &reader)
    }

    /// Reads the next value; the text was checked, which bounds the recursion.
    private init(_ text: Span<UInt8>, _ reader: inout JSONReader) throws(DecodeError) {
        let first = reader.peek(text)
        let start = reader.offset
        switch first {
        case UInt8(ascii: "["):
            reader.advance()
            var elements: [PlacedValue] = []
            while reader.nextElement(text, isFirst: elements.isEmpty) {
                elements.append(try PlacedValue(text, &reader))
            }
            content = .array(elements)
        case UInt8(ascii: "{"):
            reader.advance()
            var members: [Member] = []
            while let key = try reader.nextKey(text, isFirst: members.isEmpty) {
                let value = try PlacedValue(text, &reader)
                members.append(Member(key: key.string(in: text), keyOffset: Int(key.start) - 1, value: value))
            }
            content = .object(members)
        default:
            let token = try reader.readValue(text, depth: 0)
            content =
                switch token.kind {
                case .string: .string(token.string(in: text))
                case .number: .number(token.string(in: text))
                case .true: .bool(true)
                case .false: .bool(false)
                case .null, .absent, .object, .array: .null
                }
        }
        range = start..<reader.offset
    }
}
