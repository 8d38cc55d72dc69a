/// Strict Base64 (RFC 4648, section 4): padded, without other characters or leftover bits.
enum Base64 {
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
    static func decode(_ text: Span<UInt8>, base: Int) throws(DecodeError) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3)
        var bits: UInt32 = 0
        var digits = 0
        var padding = 0
        for index in text.indices {
            let byte = text[index]
            if byte == 0x20 || (0x09...0x0D).contains(byte) { continue }
            if byte == UInt8(ascii: "=") {
                padding += 1
            } else if let value = value(of: byte), padding == 0 {
                bits = bits << 6 | value
                digits += 1
                if digits % 4 == 0 { append(bits, 3, to: &bytes) }
            } else {
                throw DecodeError(.badEncoding, at: base + index, "this character has no place in Base64")
            }
        }
        try finish(bits, digits, padding, at: base + text.count, into: &bytes)
        return bytes
    }

    private static func finish(
        _ bits: UInt32, _ digits: Int, _ padding: Int, at offset: Int, into bytes: inout [UInt8]
    ) throws(DecodeError) {
        let rest = digits % 4
        guard (digits + padding) % 4 == 0, padding <= 2, rest != 1 else {
            let detail = "Base64 comes in groups of four characters; this text has \(digits), and \(padding) of padding"
            throw DecodeError(.badEncoding, at: offset, detail)
        }
        guard rest > 0 else { return }
        let filled = bits << (6 * UInt32(4 - rest))
        guard filled & (rest == 2 ? 0xFFFF : 0xFF) == 0 else {
            throw DecodeError(.badEncoding, at: offset, "Base64 ends with bits that belong to no byte")
        }
        append(filled, rest - 1, to: &bytes)
    }

    private static func append(_ bits: UInt32, _ count: Int, to bytes: inout [UInt8]) {
        for index in 0..<count { bytes.append(UInt8(truncatingIfNeeded: bits >> (16 - 8 * UInt32(index)))) }
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
