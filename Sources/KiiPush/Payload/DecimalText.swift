/// The value of a JSON number, for comparison without rounding: a 64-bit id or a price keeps each digit.
///
/// Two spellings of one value are equal: `21`, `21.0` and `2.1e1`; so are `0` and `-0`.
package struct DecimalText: Hashable {
    private let isNegative: Bool
    /// The significant digits, without zeros at either end; empty for zero.
    private let digits: [UInt8]
    /// The power of ten, with the decimal point before the first digit; 0 for zero.
    private let exponent: Int

    /// A larger exponent counts as this one.
    private static let mostPower = 1_000_000_000_000_000

    /// Reads the number in `range`; nil if it is not a JSON number.
    package init?(_ text: Span<UInt8>, _ range: Range<Int>) {
        guard JSONNumber.isNumber(text, range) else { return nil }
        let hasMinus = text[range.lowerBound] == UInt8(ascii: "-")
        let number = (hasMinus ? range.dropFirst() : range).map { text[$0] }
        let mantissa = number.prefix { $0 | 0x20 != UInt8(ascii: "e") }
        let written = mantissa.filter(\.isDigit)
        var digits = written.drop { $0 == UInt8(ascii: "0") }
        let zeros = written.count - digits.count
        while digits.last == UInt8(ascii: "0") { digits.removeLast() }
        let point = mantissa.firstIndex(of: UInt8(ascii: ".")) ?? mantissa.count
        let power = Self.power(number.dropFirst(mantissa.count + 1))
        isNegative = hasMinus && !digits.isEmpty
        exponent = digits.isEmpty ? 0 : point - zeros + power
        self.digits = Array(digits)
    }

    package init?(_ text: String) { self.init(text.utf8.span, 0..<text.utf8.count) }

    private static func power(_ text: ArraySlice<UInt8>) -> Int {
        var power = 0
        for digit in text where digit.isDigit {
            power = min(power * 10 + Int(digit - UInt8(ascii: "0")), mostPower)
        }
        return text.first == UInt8(ascii: "-") ? -power : power
    }

    /// Whether the text in `range` is a number of the same value as another one.
    package static func areEqual(_ text: Span<UInt8>, _ range: Range<Int>, _ other: String) -> Bool {
        if text.matches(range, other) { return JSONNumber.isNumber(text, range) }
        // Whole numbers have one spelling each, so most comparisons end here.
        if text.isPlainNumber(range), other.utf8.span.isPlainNumber(0..<other.utf8.count) { return false }
        guard let number = DecimalText(text, range), let other = DecimalText(other) else { return false }
        return number == other
    }

    package static func < (left: DecimalText, right: DecimalText) -> Bool {
        let leftSign = left.sign
        let rightSign = right.sign
        if leftSign != rightSign { return leftSign < rightSign }
        return leftSign < 0 ? right.isSmaller(than: left) : left.isSmaller(than: right)
    }

    private var sign: Int { digits.isEmpty ? 0 : isNegative ? -1 : 1 }

    /// The value as a whole number; nil if it has a fraction, or does not fit.
    package func whole<Value: FixedWidthInteger>(_ type: Value.Type = Value.self) -> Value? {
        exponent >= digits.count ? truncated() : nil
    }

    /// The value without its fraction; nil if it does not fit.
    func truncated<Value: FixedWidthInteger>() -> Value? {
        guard exponent > 0 else { return 0 }
        // No number of 128 bits has more digits.
        guard exponent < 40 else { return nil }
        let whole = String(decoding: digits.prefix(exponent), as: UTF8.self)
        let zeros = String(repeating: "0", count: max(exponent - digits.count, 0))
        return Value("\(isNegative ? "-" : "")\(whole)\(zeros)")
    }

    private func isSmaller(than other: DecimalText) -> Bool {
        guard !digits.isEmpty, !other.digits.isEmpty else { return false }
        if exponent != other.exponent { return exponent < other.exponent }
        return digits.lexicographicallyPrecedes(other.digits)
    }
}

extension Span<UInt8> {
    /// Whether a text is a number other than zero without a point or an exponent.
    fileprivate func isPlainNumber(_ range: Range<Int>) -> Bool {
        guard !range.isEmpty else { return false }
        let start = range.lowerBound + (self[range.lowerBound] == UInt8(ascii: "-") ? 1 : 0)
        guard start < range.upperBound, self[start] != UInt8(ascii: "0") else { return false }
        for index in start..<range.upperBound where !self[index].isDigit { return false }
        return true
    }
}
