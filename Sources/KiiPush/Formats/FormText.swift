/// Text in form encoding (CGI): a space is `+`, and special characters are `%` and two hexadecimal digits.
package enum FormText {
    /// Replaces `%` and two hexadecimal digits by the byte, if it is one of `only`, and returns where each byte was.
    ///
    /// A `+` stays, and so does a `%` without two digits.
    package static func unescaped(_ escaped: [UInt8], only: [UInt8]? = nil) -> (bytes: [UInt8], offsets: [Int]) {
        var (bytes, offsets): ([UInt8], [Int]) = ([], [])
        var index = 0
        while index < escaped.count {
            offsets.append(index)
            let byte = byte(escaped, at: index).flatMap { only?.contains($0) ?? true ? $0 : nil }
            bytes.append(byte ?? escaped[index])
            index += byte == nil ? 1 : 3
        }
        return (bytes, offsets)
    }

    /// The place of the first `%` without two digits; nil if there is none.
    package static func firstIncomplete(_ escaped: [UInt8]) -> Int? {
        escaped.indices.first { escaped[$0] == UInt8(ascii: "%") && byte(escaped, at: $0) == nil }
    }

    private static func byte(_ escaped: [UInt8], at index: Int) -> UInt8? {
        guard escaped[index] == UInt8(ascii: "%"), index + 2 < escaped.count,
            let high = Character(Unicode.Scalar(escaped[index + 1])).hexDigitValue,
            let low = Character(Unicode.Scalar(escaped[index + 2])).hexDigitValue
        else { return nil }
        return UInt8(high * 16 + low)
    }

    /// Decodes a text, in which a `%` without two digits stays; nil if it escapes bytes that are not UTF-8.
    static func decode(_ text: String) -> String? {
        String(
            validating: unescaped(text.utf8.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }).bytes,
            as: UTF8.self)
    }
}
