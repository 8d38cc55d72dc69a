/// Reads numbers from their text, even if a transport sends them as strings.
package enum JSONNumber {
    /// The whole number in `range`; nil if it is not a JSON number, has a fraction, or is too large.
    package static func integer(_ text: Span<UInt8>, _ range: Range<Int>) -> Int64? {
        plain(text, range) ?? DecimalText(text, range)?.whole()
    }

    /// The number in `range` without its fraction; for times, whose fractions do not matter.
    static func truncated(_ text: Span<UInt8>, _ range: Range<Int>) -> Int64? {
        plain(text, range) ?? DecimalText(text, range)?.truncated()
    }

    /// The number in `range` if it is nothing but a few digits, as most are.
    private static func plain(_ text: Span<UInt8>, _ range: Range<Int>) -> Int64? {
        let isNegative = !range.isEmpty && text[range.lowerBound] == UInt8(ascii: "-")
        let digits = text.extracting(isNegative ? range.dropFirst() : range)
        // Nineteen digits could overflow, and anything but plain digits needs the full grammar.
        guard !digits.isEmpty, digits.count <= 18, digits[0] != UInt8(ascii: "0") || digits.count == 1 else {
            return nil
        }
        var value: Int64 = 0
        for index in 0..<digits.count {
            guard digits[index].isDigit else { return nil }
            value = value &* 10 &+ Int64(digits[index] &- UInt8(ascii: "0"))
        }
        return isNegative ? -value : value
    }

    /// The JSON number in `range`; nil if it is not one, or beyond the range of `Double`.
    static func double(_ text: Span<UInt8>, _ range: Range<Int>) -> Double? {
        guard isNumber(text, range), let value = Double(text.string(range)), value.isFinite else { return nil }
        return value
    }

    /// Whether `range` is one JSON number and nothing else.
    package static func isNumber(_ text: Span<UInt8>, _ range: Range<Int>) -> Bool {
        let only = text.extracting(range)
        var reader = JSONReader(limits: .checked)
        guard !range.isEmpty, only[0] > 0x20, let token = try? reader.readValue(only, depth: 0) else { return false }
        return token.kind == .number && token.range == 0..<only.count
    }
}
