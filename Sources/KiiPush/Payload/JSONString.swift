/// The contents of a JSON string: plain bytes, UTF-8 sequences and escapes.
enum JSONString {
    /// The end of the plain bytes from `offset` on: a quote, a backslash, a control character, a byte of a longer UTF-8
    /// sequence, or the end of the text.
    ///
    /// Tests eight bytes at once, because strings are most of a payload.
    static func plainEnd(_ text: Span<UInt8>, from offset: Int) -> Int {
        // A shrinking span, so that the optimiser sees that eight bytes exist and removes the bounds checks.
        var rest = text.extracting(droppingFirst: offset)
        while rest.count >= 8 {
            let found = specialBytes(rest.word(at: 0))
            if found != 0 { return text.count &- rest.count &+ found.trailingZeroBitCount / 8 }
            rest = rest.extracting(droppingFirst: 8)
        }
        // The zeros above the last few bytes are not plain, so the end is found in the same way.
        let start = text.count &- rest.count
        return start &+ specialBytes(lastWord(text, from: start)).trailingZeroBitCount / 8
    }

    /// The bytes from `offset` on, fewer than eight, with zeros above them.
    private static func lastWord(_ text: Span<UInt8>, from offset: Int) -> UInt64 {
        let length = text.count &- offset
        if text.count < 8 { return text.word(at: offset, length: length) }
        return text.word(at: text.count &- 8) >> UInt64(64 &- length &* 8)
    }

    /// The top bit of each byte that is not plain; exact only for the lowest one, which is the only one used.
    ///
    /// Subtraction sets the top bit of small values: the exclusive or makes a quote the smallest value above the
    /// control characters, and a backslash the smallest of all.
    static func specialBytes(_ word: UInt64) -> UInt64 {
        let quoteOrControl = (word ^ 0x0202_0202_0202_0202) &- 0x2121_2121_2121_2121
        let backslash = (word ^ 0x5C5C_5C5C_5C5C_5C5C) &- 0x0101_0101_0101_0101
        return (quoteOrControl | backslash | word) & 0x8080_8080_8080_8080
    }

    /// The length of the UTF-8 sequence at `offset` (RFC 3629, section 4); nil if it is not one.
    static func sequenceLength(_ text: Span<UInt8>, at offset: Int) -> Int? {
        let lead = text[offset]
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch lead {
        case 0x00...0x7F: return 1
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: length = 4
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: return nil
        }
        guard offset + length <= text.count, second.contains(text[offset + 1]) else { return nil }
        for index in 2..<max(length, 2) where text[offset + index] & 0xC0 != 0x80 { return nil }
        return length
    }

    // MARK: Escapes

    /// Reads the escape that begins with the backslash at `offset`; a surrogate pair is one escape.
    static func escape(
        _ text: Span<UInt8>, at offset: Int
    ) throws(DecodeError) -> (character: Unicode.Scalar, end: Int) {
        guard offset + 1 < text.count else { throw cut(text) }
        let byte = text[offset + 1]
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return (Unicode.Scalar(byte), offset + 2)
        case UInt8(ascii: "b"): return ("\u{8}", offset + 2)
        case UInt8(ascii: "f"): return ("\u{C}", offset + 2)
        case UInt8(ascii: "n"): return ("\n", offset + 2)
        case UInt8(ascii: "r"): return ("\r", offset + 2)
        case UInt8(ascii: "t"): return ("\t", offset + 2)
        case UInt8(ascii: "u"):
            let unit = try codeUnit(text, at: offset)
            // Half of a surrogate pair is no character.
            if let character = Unicode.Scalar(unit) { return (character, offset + 6) }
            guard unit < 0xDC00 else { throw half(offset) }
            try expect(text, UInt8(ascii: "\\"), at: offset + 6, escape: offset)
            try expect(text, UInt8(ascii: "u"), at: offset + 7, escape: offset)
            let low = try codeUnit(text, at: offset + 6)
            guard case 0xDC00...0xDFFF = low,
                let character = Unicode.Scalar(0x10000 + (unit & 0x3FF) << 10 + low & 0x3FF)
            else { throw half(offset) }
            return (character, offset + 12)
        default:
            throw DecodeError(.invalidEscape, at: offset, "a backslash must begin one of JSON's escapes")
        }
    }

    /// Checks one byte of the second half of the surrogate pair that begins at `escape`.
    private static func expect(
        _ text: Span<UInt8>, _ byte: UInt8, at offset: Int, escape: Int
    ) throws(DecodeError) {
        guard offset < text.count else { throw cut(text) }
        guard text[offset] == byte else { throw half(escape) }
    }

    private static func half(_ offset: Int) -> DecodeError {
        DecodeError(.invalidEscape, at: offset, "unpaired surrogate")
    }

    private static func cut(_ text: Span<UInt8>) -> DecodeError {
        DecodeError(.unexpectedEnd, at: text.count, "the text ends inside an escape; it may have been cut")
    }

    /// The UTF-16 code unit of the `\uXXXX` at `offset`.
    private static func codeUnit(_ text: Span<UInt8>, at offset: Int) throws(DecodeError) -> UInt32 {
        var unit: UInt32 = 0
        for index in (offset + 2)..<(offset + 6) {
            guard index < text.count else { throw cut(text) }
            guard let digit = hexDigit(text[index]) else {
                throw DecodeError(.invalidEscape, at: offset, "\\u needs four hexadecimal digits")
            }
            unit = unit << 4 | digit
        }
        return unit
    }

    private static func hexDigit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }

    // MARK: Escapes of a checked string

    /// The bytes of a checked string, with its escapes replaced.
    static func unescaped(_ text: Span<UInt8>, _ range: Range<Int>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(range.count)
        var offset = range.lowerBound
        while offset < range.upperBound {
            let byte = text[offset]
            // Checked text cannot fail again; if it did, the backslash would stay.
            guard byte == UInt8(ascii: "\\"), let (character, end) = try? escape(text, at: offset) else {
                bytes.append(byte)
                offset += 1
                continue
            }
            if character.isASCII { bytes.append(UInt8(character.value)) } else { bytes += character.utf8 }
            offset = end
        }
        return bytes
    }
}
