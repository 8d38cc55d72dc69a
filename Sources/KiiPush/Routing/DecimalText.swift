/// The value of a JSON number, for comparison without rounding: a 64-bit id or a price keeps each digit.
package struct DecimalText {
    private let isNegative: Bool
    /// The significant digits, without zeros at either end; empty for zero.
    private let digits: [UInt8]
    /// The power of ten, with the decimal point before the first digit.
    private let exponent: Int

    /// Reads the number in `range`; nil if it is not a JSON number.
    package init?(_ text: Span<UInt8>, _ range: Range<Int>) {
        guard JSONNumber.isNumber(text, range) else { return nil }
        var digits: [UInt8] = []
        var exponent = 0
        var isBeforePoint = true
        var index = range.lowerBound
        isNegative = text[index] == UInt8(ascii: "-")
        if isNegative { index += 1 }
        while index < range.upperBound {
            let byte = text[index]
            if byte == UInt8(ascii: ".") {
                isBeforePoint = false
            } else if byte.isDigit {
                if digits.isEmpty, byte == UInt8(ascii: "0") {
                    if !isBeforePoint { exponent -= 1 }
                } else {
                    digits.append(byte)
                    if isBeforePoint { exponent += 1 }
                }
            } else {
                exponent += Self.power(text, (index + 1)..<range.upperBound)
                break
            }
            index += 1
        }
        while digits.last == UInt8(ascii: "0") { digits.removeLast() }
        self.digits = digits
        self.exponent = exponent
    }

    /// The exponent after the `e`; beyond 10^15, a larger one makes no difference for a payload.
    private static func power(_ text: Span<UInt8>, _ range: Range<Int>) -> Int {
        var power = 0
        for index in range where text[index].isDigit && power < 1_000_000_000_000_000 {
            power = power * 10 + Int(text[index] &- UInt8(ascii: "0"))
        }
        return text[range.lowerBound] == UInt8(ascii: "-") ? -power : power
    }

    package static func < (left: DecimalText, right: DecimalText) -> Bool {
        let leftSign = left.sign
        let rightSign = right.sign
        if leftSign != rightSign { return leftSign < rightSign }
        return leftSign < 0 ? right.isSmaller(than: left) : left.isSmaller(than: right)
    }

    private var sign: Int { digits.isEmpty ? 0 : isNegative ? -1 : 1 }

    private func isSmaller(than other: DecimalText) -> Bool {
        guard !digits.isEmpty, !other.digits.isEmpty else { return false }
        if exponent != other.exponent { return exponent < other.exponent }
        return digits.lexicographicallyPrecedes(other.digits)
    }
}
