/// Strict Base64 (RFC 4648, section 4): padded, without other characters or leftover bits.
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let count = min(3, bytes.count - start)
            var bits: UInt32 = 0
            for index in 0..<3 { bits = bits << 8 | (index < count ? UInt32(bytes[start + index]) : 0) }
            for index in 0..<4 {
                let isPadding = index > count
                text.append(isPadding ? UInt8(ascii: "=") : alphabet[Int(bits >> (18 - 6 * UInt32(index)) & 63)])
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes a text; white space is ignored, because long texts are often wrapped.
    ///
    /// - Throws: ``DecodeError/Code-swift.enum/badEncoding`` with the byte, counted from `base`.
    package static func decode(_ text: Span<UInt8>, base: Int) throws(DecodeError) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3)
        var (bits, digits, padding): (UInt32, Int, Int) = (0, 0, 0)
        for index in text.indices {
            let byte = text[index]
            if byte == 0x20 || (0x09...0x0D).contains(byte) { continue }
            if byte == UInt8(ascii: "=") {
                padding += 1
                continue
            }
            guard padding == 0, let value = value(of: byte) else {
                throw DecodeError(.badEncoding, at: base + index, "this character has no place in Base64")
            }
            bits = bits << 6 | value
            digits += 1
            // Of the four digits of a group, the second, third and fourth complete a byte each.
            let spare = UInt32(digits % 4 == 0 ? 0 : 8 - digits % 4 * 2)
            if spare < 6 { bytes.append(UInt8(truncatingIfNeeded: bits >> spare)) }
        }
        let rest = digits % 4
        guard (digits + padding) % 4 == 0, padding <= 2, rest != 1 else {
            let detail = "Base64 comes in groups of four characters; this text has \(digits), and \(padding) of padding"
            throw DecodeError(.badEncoding, at: base + text.count, detail)
        }
        guard rest == 0 || bits & (rest == 2 ? 0xF : 0x3) == 0 else {
            throw DecodeError(.badEncoding, at: base + text.count, "Base64 ends with bits that belong to no byte")
        }
        return bytes
    }

    private static func value(of byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte - UInt8(ascii: "a") + 26)
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0") + 52)
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
