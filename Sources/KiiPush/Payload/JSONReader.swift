/// A strict reader of RFC 8259 text: one pass, no recursion, no allocation.
///
/// It holds only a position; each method takes the text. Strings are checked as UTF-8 in place. Every error has its
/// byte offset. The limits of depth and members apply to the whole text.
package struct JSONReader {
    package private(set) var offset: Int
    private var members = 0
    private let memberLimit: Int
    private let depthLimit: Int

    package init(at offset: Int = 0, limits: PayloadLimits) {
        self.offset = offset
        memberLimit = limits.members
        depthLimit = limits.depth
    }

    // MARK: White space and punctuation

    /// Skips white space and returns the byte that follows, or nil at the end.
    @inline(__always)
    package mutating func peek(_ text: Span<UInt8>) -> UInt8? {
        while offset < text.count {
            let byte = text[offset]
            if byte > 0x20 { return byte }
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte }
            offset &+= 1
        }
        return nil
    }

    package mutating func advance() { offset &+= 1 }

    package func unexpected(_ text: Span<UInt8>, _ expected: StaticString) -> DecodeError {
        if text[offset] >= 0x80, JSONString.sequenceLength(text, at: offset) == nil {
            return DecodeError(.invalidUTF8, at: offset, "bytes that are not UTF-8 where \(expected) is expected")
        }
        let hint =
            switch text[offset] {
            case 0: ", not a zero byte; use UTF-8, and not UTF-16"
            case UInt8(ascii: "/"), UInt8(ascii: "#"): "; JSON has no comments"
            default: ""
            }
        return DecodeError(.unexpectedCharacter, at: offset, "expected \(expected)\(hint)")
    }

    // MARK: Members

    /// Reads the next key of an object and its colon; nil if the object ends instead.
    ///
    /// Call it with `isFirst` right after the opening brace, and without it after each value.
    @inline(__always)
    package mutating func nextKey(_ text: Span<UInt8>, isFirst: Bool) throws(DecodeError) -> JSONKey? {
        guard let byte = peek(text) else { throw .end(text, "a key or a closing brace") }
        if byte == UInt8(ascii: "}") {
            advance()
            return nil
        }
        if !isFirst {
            guard byte == UInt8(ascii: ",") else { throw unexpected(text, "a comma or a closing brace") }
            advance()
        }
        return try readKey(text)
    }

    @inline(__always)
    private mutating func readKey(_ text: Span<UInt8>) throws(DecodeError) -> JSONKey {
        guard let quote = peek(text) else { throw .end(text, "a key") }
        guard quote == UInt8(ascii: "\"") else { throw unexpected(text, "a key in double quotes") }
        guard members < memberLimit else { throw tooManyMembers() }
        members &+= 1
        if let key = readShortKey(text) { return key }
        return JSONKey(token: try readAnyKey(text), word: 0)
    }

    /// Reads a key of up to seven plain bytes that is followed directly by its colon; otherwise reads nothing.
    ///
    /// Nearly all keys have this form, and it takes a third of the time of the general case.
    @inline(__always)
    private mutating func readShortKey(_ text: Span<UInt8>) -> JSONKey? {
        guard text.count &- offset >= 16 else { return nil }
        // The bounds of sixteen bytes are checked once.
        let next = text.extracting(offset..<(offset &+ 16))
        // The bytes after the quote, with a zero on top, which ends the key at the latest.
        let word = next.word(at: 0) &>> 8
        let length = JSONString.specialBytes(word).trailingZeroBitCount / 8
        guard next[1 &+ length] == UInt8(ascii: "\""), next[2 &+ length] == UInt8(ascii: ":") else { return nil }
        let start = offset &+ 1
        offset &+= length &+ 3
        let beyond = ~UInt64(0) &<< UInt64(truncatingIfNeeded: length &* 8)
        return JSONKey(token: JSONToken(.string, start, start &+ length), word: word & ~beyond)
    }

    @inline(__always)
    private mutating func readAnyKey(_ text: Span<UInt8>) throws(DecodeError) -> JSONToken {
        let key = try readString(text)
        guard let colon = peek(text) else { throw .end(text, "a colon") }
        guard colon == UInt8(ascii: ":") else { throw unexpected(text, "a colon") }
        advance()
        return key
    }

    private func tooManyMembers() -> DecodeError {
        DecodeError(.limitExceeded, at: offset, "more than \(memberLimit) members; raise the limit or send less")
    }

    // MARK: Values

    /// Reads the next value, of any type, inside of `depth` containers, and checks everything nested in it.
    ///
    /// - Throws: `DecodeError` with the byte that breaks a rule or a limit.
    @inline(__always)
    package mutating func readValue(_ text: Span<UInt8>, depth: Int) throws(DecodeError) -> JSONToken {
        guard let byte = peek(text) else { throw .end(text, "a value") }
        if byte == UInt8(ascii: "\"") { return try readString(text) }
        // On a copy, so that the position stays in a register while strings are read: a call that may change it would
        // write it to memory and read it again for each token (measured: 10 ns for each payload). Only the properties
        // that may have changed are copied back.
        var other = self
        let token = try other.readOther(text, byte, depth: depth)
        offset = other.offset
        members = other.members
        return token
    }

    @inline(never)
    private mutating func readOther(_ text: Span<UInt8>, _ byte: UInt8, depth: Int) throws(DecodeError) -> JSONToken {
        if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") { return try readContainer(text, depth: depth) }
        return try readScalar(text, byte)
    }

    private mutating func readScalar(_ text: Span<UInt8>, _ byte: UInt8) throws(DecodeError) -> JSONToken {
        switch byte {
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try readNumber(text)
        case UInt8(ascii: "t"): try readLiteral(text, "true", .true)
        case UInt8(ascii: "f"): try readLiteral(text, "false", .false)
        case UInt8(ascii: "n"): try readLiteral(text, "null", .null)
        default: throw unexpected(text, "a value")
        }
    }

    /// Reads an object or an array with its contents; the open containers are bits of one word, set for objects.
    private mutating func readContainer(_ text: Span<UInt8>, depth: Int) throws(DecodeError) -> JSONToken {
        let start = offset
        let isObject = text[start] == UInt8(ascii: "{")
        var open: UInt64 = 0
        var depth = depth
        var opened = 0

        reading: while true {
            // At an opening bracket.
            guard depth < depthLimit else {
                throw DecodeError(.limitExceeded, at: offset, "nested deeper than \(depthLimit) levels")
            }
            open = open << 1 | (text[offset] == UInt8(ascii: "{") ? 1 : 0)
            depth += 1
            opened += 1
            advance()
            var isFirst = true

            // After an opening bracket or a value, until a nested bracket opens.
            while true {
                guard let byte = peek(text) else { break reading }
                if byte == (open & 1 == 1 ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                    advance()
                    open >>= 1
                    depth -= 1
                    opened -= 1
                    if opened == 0 { return JSONToken(isObject ? .object : .array, start, offset) }
                    isFirst = false
                    continue
                }
                if !isFirst {
                    guard byte == UInt8(ascii: ",") else { throw unexpected(text, "a comma or a closing bracket") }
                    advance()
                }
                isFirst = false
                if open & 1 == 1 { _ = try readKey(text) }
                guard let first = peek(text) else { throw .end(text, "a value") }
                if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") { break }
                if first == UInt8(ascii: "\"") {
                    _ = try readString(text)
                } else {
                    _ = try readScalar(text, first)
                }
            }
        }
        throw .end(text, "a value or a closing bracket")
    }

    /// Reads a string from its opening quote; the token excludes the quotes.
    @inline(__always)
    package mutating func readString(_ text: Span<UInt8>) throws(DecodeError) -> JSONToken {
        let start = offset &+ 1
        let end = JSONString.plainEnd(text, from: start)
        if end < text.count, text[end] == UInt8(ascii: "\"") {
            offset = end &+ 1
            return JSONToken(.string, start, end)
        }
        let token = try Self.readRest(text, of: start, from: end)
        offset = Int(token.end) &+ 1
        return token
    }

    /// Reads the rest, from `offset`, of a string that is not all plain bytes.
    @inline(never)
    private static func readRest(
        _ text: Span<UInt8>, of start: Int, from offset: Int
    ) throws(DecodeError) -> JSONToken {
        var offset = offset
        var hasEscapes = false
        while offset < text.count {
            let byte = text[offset]
            if byte == UInt8(ascii: "\"") { return JSONToken(.string, start, offset, hasEscapes: hasEscapes) }
            if byte == UInt8(ascii: "\\") {
                hasEscapes = true
                offset = try JSONString.escape(text, at: offset).end
            } else if byte < 0x20 {
                throw DecodeError(.unexpectedCharacter, at: offset, "a control character in a string must be escaped")
            } else {
                guard let length = JSONString.sequenceLength(text, at: offset) else {
                    throw DecodeError(.invalidUTF8, at: offset, "a string holds bytes that are not UTF-8")
                }
                offset &+= length
            }
            offset = JSONString.plainEnd(text, from: offset)
        }
        throw .end(text, "a closing quote")
    }

    private mutating func readNumber(_ text: Span<UInt8>) throws(DecodeError) -> JSONToken {
        let start = offset
        if text[offset] == UInt8(ascii: "-") { offset &+= 1 }
        if offset < text.count, text[offset] == UInt8(ascii: "0") {
            offset &+= 1
            if offset < text.count, text[offset].isDigit {
                throw DecodeError(.invalidNumber, at: offset, "a number must not begin with a zero")
            }
        } else {
            try readDigits(text)
        }
        if offset < text.count, text[offset] == UInt8(ascii: ".") {
            offset &+= 1
            try readDigits(text)
        }
        if offset < text.count, text[offset] | 0x20 == UInt8(ascii: "e") {
            offset &+= 1
            if offset < text.count, text[offset] == UInt8(ascii: "+") || text[offset] == UInt8(ascii: "-") {
                offset &+= 1
            }
            try readDigits(text)
        }
        return JSONToken(.number, start, offset)
    }

    @inline(__always)
    private mutating func readDigits(_ text: Span<UInt8>) throws(DecodeError) {
        guard offset < text.count else { throw .end(text, "a digit") }
        guard text[offset].isDigit else { throw DecodeError(.invalidNumber, at: offset, "expected a digit") }
        while offset < text.count, text[offset].isDigit { offset &+= 1 }
    }

    private mutating func readLiteral(
        _ text: Span<UInt8>, _ literal: String, _ kind: JSONToken.Kind
    ) throws(DecodeError) -> JSONToken {
        let start = offset
        for byte in literal.utf8 {
            guard offset < text.count else { throw .end(text, "true, false or null") }
            guard text[offset] == byte else { throw unexpected(text, "true, false or null") }
            offset &+= 1
        }
        return JSONToken(kind, start, offset)
    }
}

extension DecodeError {
    fileprivate static func end(_ text: Span<UInt8>, _ expected: StaticString) -> DecodeError {
        DecodeError(.unexpectedEnd, at: text.count, "the text ends where \(expected) is expected; it may have been cut")
    }
}

extension UInt8 {
    package var isDigit: Bool { self &- UInt8(ascii: "0") < 10 }
    package var isASCIILetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }
}
