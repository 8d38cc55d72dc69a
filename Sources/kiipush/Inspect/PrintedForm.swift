import KiiPush

/// Reads a payload in quotes, as a debugger prints a text: `"{\"topic\":\"t\"}"`, or `Optional("…")`.
enum QuotedPayload {
    /// The payload, with the offset of its text; nil if there is none.
    static func read(_ text: [UInt8]) -> (bytes: [UInt8], offset: Int)? {
        var trimmed = text[...]
        func trim() {
            trimmed = trimmed.drop { $0 <= 0x20 }
            while let last = trimmed.last, last <= 0x20 { trimmed.removeLast() }
        }
        trim()
        if trimmed.starts(with: "Optional(".utf8), trimmed.last == UInt8(ascii: ")") {
            trimmed = trimmed.dropFirst(9).dropLast()
            trim()
        }
        guard case .string(let inner)? = DataValue(json: String(decoding: trimmed, as: UTF8.self)),
            inner.utf8.first(where: { $0 > 0x20 }) == UInt8(ascii: "{")
        else { return nil }
        return (Array(inner.utf8), trimmed.startIndex)
    }
}

/// Reads a map as Java and Kotlin print it, perhaps in a bundle: `Bundle[{bucketID=settings, objectID=o-1}]`.
enum PrintedMap {
    /// The map's JSON, all values texts; nil if the text is not such a map.
    static func json(_ text: [UInt8]) -> String? {
        guard let open = text.firstIndex(of: UInt8(ascii: "{")), let close = text.lastIndex(of: UInt8(ascii: "}")),
            open < close, text[(close + 1)...].allSatisfy({ $0 <= 0x20 || $0 == UInt8(ascii: "]") })
        else { return nil }
        let body = String(decoding: text[(open + 1)..<close], as: UTF8.self)
        // As in a property list on one line.
        if body.last(where: { !$0.isWhitespace }) == ";" { return nil }
        // A comma inside a value is not followed by a key and an equals sign.
        var pairs: [(key: String, value: String)] = []
        for (index, part) in body.split(separator: ",", omittingEmptySubsequences: false).enumerated() {
            let pair = index > 0 && part.first == " " ? part.dropFirst() : part
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if index == 0 || part.first == " ", halves.count == 2, isKey(halves[0]) {
                pairs.append((String(halves[0]), String(halves[1])))
            } else {
                guard let last = pairs.popLast() else { return nil }
                pairs.append((last.key, last.value + "," + part))
            }
        }
        guard !pairs.isEmpty else { return nil }
        return JSONWriter.object { writer in
            for (key, value) in pairs { writer.member(key, value == "null" ? nil : value) }
        }
    }

    /// Whether a text is a key; one after a brace and a space is of a property list.
    private static func isKey(_ text: Substring) -> Bool { !text.isEmpty && text.utf8.allSatisfy { $0.isKeyByte } }
}

/// Names a payload that a program prints in a form that cannot be read.
enum PrintedForm {
    /// What the text is and what to print instead; nil if it is none of the known forms.
    static func hint(_ bytes: [UInt8], _ error: DecodeError) -> String? {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        if ["\u{25BF} ", " key/value pairs", "(key = "].contains(where: text.contains(exactly:)) {
            return "this is a debugger's view of the dictionary; print it as JSON, or with 'print'"
        }
        let words = text.split { $0.isWhitespace || $0 == "(" || $0 == ")" }
        if !bytes.contains(UInt8(ascii: "{")), words.last == "bytes", words.dropLast().last.flatMap({ Int($0) }) != nil
        {
            return "this is only the size of the data; print its bytes or its text"
        }
        if ["{'", ": '"].contains(where: text.contains(exactly:)) {
            return "this is a dictionary of Python or JavaScript, not JSON; print it with json.dumps or JSON.stringify"
        }
        if let quote = QuotedBytes.quote(in: bytes)?.index, bytes[(quote + 1)...].first == UInt8(ascii: "{"),
            QuotedBytes.read(bytes) == nil
        {
            return "the bytes in quotes do not end with their quote; print the whole payload's text"
        }
        if error.code == .unexpectedCharacter, isUnquoted(bytes, error.offset) {
            return "this is a map as Dart or JavaScript prints it, not JSON; print it with jsonEncode or JSON.stringify"
        }
        if isBehindWholeLine(bytes, error.offset) {
            return "if each line is a payload, use --lines"
        }
        return nil
    }

    /// Whether a bare word and a colon are at an offset, after a brace.
    private static func isUnquoted(_ bytes: [UInt8], _ offset: Int) -> Bool {
        guard offset < bytes.count, bytes[..<offset].last(where: { $0 > 0x20 }) == UInt8(ascii: "{") else {
            return false
        }
        let word = bytes[offset...].prefix { $0.isKeyByte }
        return !word.isEmpty && bytes[word.endIndex...].first { $0 > 0x20 } == UInt8(ascii: ":")
    }

    /// Whether the first line is a JSON object by itself, and an offset behind it.
    private static func isBehindWholeLine(_ bytes: [UInt8], _ offset: Int) -> Bool {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")), end < offset else { return false }
        guard case .object? = DataValue(json: String(decoding: bytes[..<end], as: UTF8.self)) else { return false }
        return true
    }
}

extension UInt8 {
    /// Whether it may be in a key of Kii, of a network or of a sender, without quotes.
    fileprivate var isKeyByte: Bool {
        (0x30...0x39).contains(self) || (0x61...0x7A).contains(self | 0x20) || "._-".utf8.contains(self)
    }
}

/// Reads the bytes of a payload that a log prints as numbers.
///
/// The two descriptions of `NSData`, `<7b226170 73223a7b>` and `{length = 8, bytes = 0x7b226170 73223a7b}`; plain
/// hexadecimal; a dump of `xxd`, `hexdump -C` or `od -tx1 -Ax`; Base64; and Swift's list of bytes, `[123, 34, 97]`.
/// Text before a description, such as a log's prefix, is skipped. A payload begins with a brace, so anything else is no
/// payload's bytes.
enum PrintedBytes {
    /// The bytes that a text prints, with their offset; nil if it prints none, an error if it leaves out bytes.
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
        if isDump(text) { return bytes(digits(ofDump: text)).map { ($0, first) } }
        let start = text[first...].starts(with: "0x".utf8) ? first + 2 : first
        if let bytes = try payload(text, start..<text.count, until: nil) { return bytes }
        let decoded = try? Base64.decode(text.span, base: 0)
        return decoded?.first == UInt8(ascii: "{") ? decoded.map { ($0, first) } : nil
    }

    /// Whether a text begins with the offset of a dump's first line.
    static func isDump(_ text: [UInt8]) -> Bool {
        let offset = text.prefix { $0 == UInt8(ascii: "0") }
        return offset.count >= 6 && text.dropFirst(offset.count).first.map { " :".utf8.contains($0) } == true
    }

    /// The hexadecimal digits of a dump, without the offset before and the text behind those of each line.
    private static func digits(ofDump text: [UInt8]) -> [UInt8] {
        text.split(separator: UInt8(ascii: "\n")).flatMap { line -> [UInt8] in
            let words = String(decoding: line, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
            // xxd ends the digits with two spaces, and hexdump with a bar.
            let isXxd = words.first?.last == ":"
            let digits = words.dropFirst().prefix { isXxd ? !$0.isEmpty : $0.first != "|" }
            return digits.joined().compactMap(\.hexDigitValue).map { UInt8($0) }
        }
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

/// Reads the bytes of a payload as Python prints them, `b'{"topic": "t"}'` or `b"…"`, or in the quotes of a shell,
/// `'{"topic": "t"}'` or `$'…'`.
///
/// Text before them, such as a log's prefix, is skipped, but not before plain quotes; behind them, only brackets and
/// commas may follow.
enum QuotedBytes {
    /// The payload, with the offset of its bytes; nil if there is none.
    static func read(_ text: [UInt8]) -> (bytes: [UInt8], offset: Int)? {
        guard let (start, isPlain) = quote(in: text) else { return nil }
        var bytes: [UInt8] = []
        var left = text[(start + 1)...]
        while let byte = left.popFirst() {
            if byte == text[start] {
                let isWhole = left.allSatisfy { $0 <= 0x20 || ")],".utf8.contains($0) }
                return isWhole && bytes.first { $0 > 0x20 } == UInt8(ascii: "{") ? (bytes, start) : nil
            }
            if byte == UInt8(ascii: "\\"), !isPlain {
                guard let byte = escape(&left) else { return nil }
                bytes.append(byte)
            } else {
                bytes.append(byte)
            }
        }
        return nil
    }

    /// The first quote, behind a `b` or `$` that ends no word, or at the beginning: that one is plain, without escapes.
    static func quote(in text: [UInt8]) -> (index: Int, isPlain: Bool)? {
        let first = text.firstIndex { $0 > 0x20 } ?? 0
        if first < text.count, text[first] == UInt8(ascii: "'") { return (first, true) }
        return text.indices.dropFirst().first { index in
            guard "'\"".utf8.contains(text[index]), "b$".utf8.contains(text[index - 1]) else { return false }
            return index == 1 || !Character(Unicode.Scalar(text[index - 2])).isLetter
        }.map { ($0, false) }
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
