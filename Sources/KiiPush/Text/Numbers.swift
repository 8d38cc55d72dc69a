/// A number with its noun, in the singular for one, and with an `s` otherwise: `1 rule`, `2 rules`.
package func counted(_ number: some BinaryInteger, _ noun: String) -> String {
    "\(number) \(noun)\(number == 1 ? "" : "s")"
}

extension BinaryInteger {
    /// The number's digits, behind as many zeros as make them this many.
    package func digits(_ width: Int, radix: Int = 10, uppercase: Bool = false) -> String {
        let digits = String(self, radix: radix, uppercase: uppercase)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

extension String {
    /// The text as forms and URLs escape it: each byte is `%` and two hexadecimal digits, except for ASCII letters,
    /// digits and the characters of `kept`.
    package func percentEncoded(except kept: String) -> String {
        utf8.reduce(into: "") { text, byte in
            let isPlain = byte.isASCIILetter || byte.isDigit || kept.utf8.contains(byte)
            text += isPlain ? String(Unicode.Scalar(byte)) : "%" + byte.digits(2, radix: 16, uppercase: true)
        }
    }
}
