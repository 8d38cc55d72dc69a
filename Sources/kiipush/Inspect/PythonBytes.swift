import KiiPush

/// Reads the bytes of a payload as Python prints them: `b'{"topic": "t"}'`, or `b"…"` if they have an apostrophe.
///
/// Text before them, such as a log's prefix, is skipped; behind them, only brackets and commas may follow.
enum PythonBytes {
    /// The payload, with the offset of its bytes; nil if there is none.
    static func read(_ text: [UInt8]) -> (bytes: [UInt8], offset: Int)? {
        guard let start = start(in: text) else { return nil }
        let quote = text[start + 1]
        var bytes: [UInt8] = []
        var left = text[(start + 2)...]
        while let byte = left.popFirst() {
            if byte == quote {
                let isWhole = left.allSatisfy { $0 <= 0x20 || ")],".utf8.contains($0) }
                return isWhole && bytes.first { $0 > 0x20 } == UInt8(ascii: "{") ? (bytes, start) : nil
            }
            if byte == UInt8(ascii: "\\") {
                guard let byte = escape(&left) else { return nil }
                bytes.append(byte)
            } else {
                bytes.append(byte)
            }
        }
        return nil
    }

    /// The beginning of the first literal: a `b` that ends no word, and a quote.
    static func start(in text: [UInt8]) -> Int? {
        text.indices.dropLast().first { index in
            guard text[index] == UInt8(ascii: "b"), "'\"".utf8.contains(text[index + 1]) else { return false }
            return index == 0 || !Character(Unicode.Scalar(text[index - 1])).isLetter
        }
    }

    /// The byte of an escape behind its backslash; nil for one that Python does not print.
    private static func escape(_ left: inout ArraySlice<UInt8>) -> UInt8? {
        switch left.popFirst() {
        case UInt8(ascii: "n"): return 0x0A
        case UInt8(ascii: "r"): return 0x0D
        case UInt8(ascii: "t"): return 0x09
        case UInt8(ascii: "x"):
            let digits = left.prefix(2)
            left = left.dropFirst(2)
            guard digits.count == 2, !digits.contains(UInt8(ascii: "+")) else { return nil }
            return UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
        case .some(let byte) where "\\'\"".utf8.contains(byte): return byte
        default: return nil
        }
    }
}
