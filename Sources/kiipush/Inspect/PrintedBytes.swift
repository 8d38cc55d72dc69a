import KiiPush

/// Reads the bytes of a payload that a log prints as numbers.
///
/// The two descriptions of `NSData`, `<7b226170 73223a7b>` and `{length = 8, bytes = 0x7b226170 73223a7b}`; plain
/// hexadecimal; and Swift's list of bytes, `[123, 34, 97]`. Text before a description, such as a log's prefix, is
/// skipped. A payload begins with a brace, so anything else is no payload's bytes.
enum PrintedBytes {
    /// The bytes that a text prints, with the offset at which it does; nil if it prints none.
    ///
    /// - Throws: `unexpectedEnd` if the description leaves out bytes.
    static func read(_ text: [UInt8]) throws(DecodeError) -> (bytes: [UInt8], offset: Int)? {
        // Inside another description, bytes are a value of the payload.
        let open = text.firstIndex { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "[") } ?? text.count
        let mark = "bytes = 0x".utf8
        if text[open...].starts(with: "{length = ".utf8),
            let found = text[open...].indices.first(where: { text[$0...].starts(with: mark) })
        {
            return try payload(text, (found + mark.count)..<text.count, until: UInt8(ascii: "}"))
        }
        if let angle = text[..<open].firstIndex(of: UInt8(ascii: "<")),
            let read = try payload(text, (angle + 1)..<text.count, until: UInt8(ascii: ">"))
        {
            return read
        }
        guard let first = text.firstIndex(where: { $0 > 0x20 }) else { return nil }
        if text[first] == UInt8(ascii: "[") { return list(text, first) }
        let start = text[first...].starts(with: "0x".utf8) ? first + 2 : first
        return try payload(text, start..<text.count, until: nil)
    }

    /// Hexadecimal digits up to `end`, which may have spaces between them.
    private static func payload(
        _ text: [UInt8], _ range: Range<Int>, until end: UInt8?
    ) throws(DecodeError) -> (bytes: [UInt8], offset: Int)? {
        var digits: [UInt8] = []
        for index in range {
            let byte = text[index]
            if byte == end { return bytes(digits).map { ($0, range.lowerBound) } }
            if byte <= 0x20 { continue }
            if let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 {
                digits.append(UInt8(digit))
            } else if byte == UInt8(ascii: "."), text[index...].starts(with: "...".utf8),
                bytes(Array(digits.prefix(2))) != nil
            {
                throw DecodeError(
                    .unexpectedEnd, at: index,
                    "bytes are left out here ('...'); print the whole payload, for example as text or Base64")
            } else {
                return nil
            }
        }
        return end == nil ? bytes(digits).map { ($0, range.lowerBound) } : nil
    }

    /// The bytes of hexadecimal digits, if they are whole and begin with a brace.
    private static func bytes(_ digits: [UInt8]) -> [UInt8]? {
        guard digits.count.isMultiple(of: 2), digits.starts(with: [7, 11]) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    private static func list(_ text: [UInt8], _ start: Int) -> (bytes: [UInt8], offset: Int)? {
        let body = String(decoding: text[(start + 1)...], as: UTF8.self).prefix { $0 != "]" }
        let numbers = body.split(separator: ",").map { UInt8($0.filter { !$0.isWhitespace }) }
        guard numbers.first == UInt8(ascii: "{"), !numbers.contains(nil) else { return nil }
        return (numbers.compactMap(\.self), start)
    }
}
