import KiiPush

// Swift's description of a dictionary, as `print` writes it:
// `[AnyHashable("sa"): 0123abcd, AnyHashable("aps"): { alert = hey; }, "n": Optional("x")]`.
//
// Texts of Objective-C are printed without quotes, so such a text ends where the next key or the end follows.

extension DescriptionReader {
    /// The beginning of the description: the first square bracket before a key and a colon.
    static func startOfSwift(_ text: [UInt8]) -> Int? {
        text.indices.first { index in
            guard text[index] == UInt8(ascii: "[") else { return false }
            var reader = DescriptionReader(text: text, offset: index + 1)
            reader.skipSpace()
            return reader.isAtSwiftKey
        }
    }

    /// Reads a dictionary or an array of Swift, from its opening bracket on.
    mutating func readSwiftCollection(depth: Int) throws(DecodeError) {
        try checkDepth(depth + 1)
        offset += 1
        skipSpace()
        let isEmptyDictionary = isAt(":")
        if isEmptyDictionary { offset += 1 }
        let isDictionary = isEmptyDictionary || isAtSwiftKey
        json += isDictionary ? "{" : "["
        skipSpace()
        while peek != UInt8(ascii: "]") {
            if isDictionary { try readSwiftKey() }
            try readSwiftValue(depth: depth + 1, isElement: !isDictionary, isWrapped: false)
            guard try takeComma(before: UInt8(ascii: "]")) else { break }
            json += ","
        }
        offset += 1
        json += isDictionary ? "}" : "]"
    }

    /// Whether a key and a colon follow: only `AnyHashable(…)` and quoted texts are keys.
    private var isAtSwiftKey: Bool {
        guard isAt(Self.hashable) || isAt("\"") else { return false }
        var reader = self
        return (try? reader.readSwiftKey()) != nil
    }

    private static let hashable = "AnyHashable("
    /// A longer text is no key, so that looking for the next key takes constant time.
    private static let longestKey = 1024
    private static let mostBrackets = 64

    private mutating func readSwiftKey() throws(DecodeError) {
        notePlace()
        let isHashable = isAt(Self.hashable)
        if isHashable, !text[offset...].prefix(Self.longestKey).contains(UInt8(ascii: ")")) {
            throw unexpected("a key")
        }
        if isHashable { offset += Self.hashable.utf8.count }
        json +=
            (peek == UInt8(ascii: "\"") ? try readSwiftText(limit: Self.longestKey) : try readText()).quotedAsJSON + ":"
        if isHashable {
            guard peek == UInt8(ascii: ")") else { throw unexpected("a closing bracket") }
            offset += 1
        }
        skipSpace()
        guard peek == UInt8(ascii: ":") else { throw unexpected("a colon") }
        offset += 1
    }

    private mutating func readSwiftValue(depth: Int, isElement: Bool, isWrapped: Bool) throws(DecodeError) {
        try checkDepth(depth)
        skipSpace()
        for wrapper in ["Optional(", Self.hashable] where isAt(wrapper) {
            offset += wrapper.utf8.count
            try readSwiftValue(depth: depth + 1, isElement: isElement, isWrapped: true)
            skipSpace()
            guard peek == UInt8(ascii: ")") else { throw unexpected("a closing bracket") }
            offset += 1
            return
        }
        notePlace()
        switch peek {
        case UInt8(ascii: "\""): json += try readSwiftText().quotedAsJSON
        case UInt8(ascii: "{") where isAtDictionary || isAt("{\n}") || isAt("{}"): try readValue(depth: depth)
        case UInt8(ascii: "(") where isAt("(\n"): try readArray(depth: depth + 1)
        case UInt8(ascii: "[") where isAtCollection: try readSwiftCollection(depth: depth)
        default:
            let word = readBareText(isElement: isElement, isWrapped: isWrapped)
            switch word {
            case "nil", "<null>": json += "null"
            case "true", "false": json += word
            default: json += Self.isNumber(word) ? word : word.quotedAsJSON
            }
        }
    }

    /// Whether a square bracket begins a collection, and not a text.
    private var isAtCollection: Bool {
        var reader = self
        reader.offset += 1
        reader.skipSpace()
        guard let next = reader.peek else { return false }
        return "\"[]:".utf8.contains(next) || next.isDigit || reader.isAt(Self.hashable)
            || reader.isAt("Optional(")
    }

    /// Reads a text without quotes: up to the next key, or to the brackets that end the description.
    private mutating func readBareText(isElement: Bool, isWrapped: Bool) -> String {
        let start = offset
        while let byte = peek {
            if byte == UInt8(ascii: isWrapped ? ")" : "]"), isBeforeEnd { break }
            if byte == UInt8(ascii: ","), text[offset...].dropFirst().first == UInt8(ascii: " ") {
                var reader = self
                reader.offset += 2
                if isElement || reader.isAtSwiftKey { break }
            }
            offset += 1
        }
        let bytes = text[start..<offset]
        let end = bytes.lastIndex { $0 > 0x20 }.map { $0 + 1 } ?? start
        return String(decoding: bytes[..<end], as: UTF8.self)
    }

    /// Whether nothing but closing brackets follows, up to a comma and a key, or the end of the line.
    private var isBeforeEnd: Bool {
        var reader = self
        while let byte = reader.peek, byte == UInt8(ascii: "]") || byte == UInt8(ascii: ")") {
            reader.offset += 1
            if reader.offset - offset > Self.mostBrackets { return false }
        }
        guard let byte = reader.peek else { return true }
        if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "}") { return true }
        guard byte == UInt8(ascii: ",") else {
            reader.skipSpace()
            return reader.peek == nil
        }
        return true
    }

    /// Reads a quoted text with Swift's escapes, such as `\u{e9}`.
    private mutating func readSwiftText(limit: Int = .max) throws(DecodeError) -> String {
        offset += 1
        let start = offset
        var bytes: [UInt8] = []
        while let byte = peek {
            offset += 1
            guard offset - start <= limit else { throw unexpected("a key") }
            if byte == UInt8(ascii: "\"") { return String(decoding: bytes, as: UTF8.self) }
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            guard let escape = peek else { break }
            offset += 1
            switch escape {
            case UInt8(ascii: "n"): bytes.append(0x0A)
            case UInt8(ascii: "r"): bytes.append(0x0D)
            case UInt8(ascii: "t"): bytes.append(0x09)
            case UInt8(ascii: "0"): bytes.append(0)
            case UInt8(ascii: "u") where peek == UInt8(ascii: "{"):
                let digits = text[(offset + 1)...].prefix { $0 != UInt8(ascii: "}") }
                guard digits.count <= 8,
                    let scalar = UInt32(String(decoding: digits, as: UTF8.self), radix: 16).flatMap(Unicode.Scalar.init)
                else { throw DecodeError(.invalidEscape, at: offset - 2, "\\u{…} needs the digits of a scalar") }
                bytes += Array(String(Character(scalar)).utf8)
                offset = digits.endIndex + 1
            default: bytes.append(escape)
            }
        }
        throw end("a closing quote")
    }
}
