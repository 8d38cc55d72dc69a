import KiiPush

/// Parses the description of a payload in Apple's logs, and converts it to JSON.
///
/// A property list, as `NSLog` prints it, or Swift's description of a dictionary; see `readSwiftCollection`. Each may
/// contain the other, and may be inside `Optional(…)`. A property list: `{ aps = { alert = "Hello"; }; bi = settings; w
/// = 1403844866395; }`: keys and values are bare words or quoted, lists are in round brackets, and a missing semicolon
/// at a line's end is accepted, since Kii's own guide contains one. Text before the first brace, such as a log's
/// prefix, is skipped.
///
/// In a description, a number and a string of the same digits look the same. A value that reads as a JSON number
/// becomes one, which does no harm, since Kii's fields treat a number as its text.
struct DescriptionReader {
    let text: [UInt8]
    var offset: Int
    var json = ""
    /// The language of the description, in errors.
    private var language = "a property-list description"
    /// The positions of each key and value in the JSON and in the description.
    private var places: [(json: Int, text: Int)] = []

    /// The deepest nesting that is accepted; a payload has two levels.
    private static let deepest = 32

    /// Parses a whole description; nil if the text does not look like one.
    init?(_ text: [UInt8]) throws(DecodeError) {
        let (list, swift) = (Self.start(of: text), Self.startOfSwift(text))
        guard let start = [list, swift].compactMap(\.self).min() else { return nil }
        self.init(text: text, offset: start)
        if start == swift {
            language = "Swift's description of a dictionary"
            notePlace()
            try readSwiftCollection(depth: 0)
        } else {
            try readValue(depth: 0)
        }
        skipSpace()
        if String(decoding: text[..<start], as: UTF8.self).contains(exactly: "Optional(") { skipBrackets() }
        if offset < text.count { throw unexpected("the end") }
    }

    /// The byte of the description that corresponds to an offset in its JSON.
    func place(of jsonOffset: Int) -> Int { places.last { $0.json <= jsonOffset }?.text ?? 0 }

    init(text: [UInt8], offset: Int) {
        (self.text, self.offset) = (text, offset)
    }

    /// The beginning of the description: the first brace, if a key and an equals sign follow.
    private static func start(of text: [UInt8]) -> Int? {
        guard let brace = text.firstIndex(of: UInt8(ascii: "{")) else { return nil }
        return DescriptionReader(text: text, offset: brace).isAtDictionary ? brace : nil
    }

    /// Whether a brace follows, then a key and an equals sign.
    var isAtDictionary: Bool {
        var reader = DescriptionReader(text: text, offset: offset + 1)
        reader.skipSpace()
        guard (try? reader.readText()) != nil else { return false }
        reader.skipSpace()
        return reader.peek == UInt8(ascii: "=")
    }

    // MARK: Values

    mutating func readValue(depth: Int) throws(DecodeError) {
        skipSpace()
        notePlace()
        switch peek {
        case UInt8(ascii: "{") where isAt("{length = "): json += try readData(until: UInt8(ascii: "}")).quotedAsJSON
        case UInt8(ascii: "{"): try readDictionary(depth: depth + 1)
        case UInt8(ascii: "("): try readArray(depth: depth + 1)
        case UInt8(ascii: "<"): json += try readData(until: UInt8(ascii: ">")).quotedAsJSON
        case UInt8(ascii: "\""):
            // A null is printed as a text.
            let text = try readText()
            json += text == "<null>" ? "null" : text.quotedAsJSON
        default:
            let word = try readText()
            json += Self.isNumber(word) ? word : word.quotedAsJSON
        }
    }

    private mutating func readDictionary(depth: Int) throws(DecodeError) {
        try checkDepth(depth)
        offset += 1
        json += "{"
        var isFirst = true
        while true {
            skipSpace()
            guard let byte = peek else { throw end("a key or a closing brace") }
            if byte == UInt8(ascii: "}") { break }
            if !isFirst { json += "," }
            isFirst = false
            notePlace()
            json += try readText().quotedAsJSON + ":"
            skipSpace()
            guard peek == UInt8(ascii: "=") else { throw unexpected("an equals sign") }
            offset += 1
            try readValue(depth: depth)
            try readSemicolon()
        }
        offset += 1
        json += "}"
    }

    mutating func readArray(depth: Int) throws(DecodeError) {
        try checkDepth(depth)
        offset += 1
        json += "["
        skipSpace()
        while peek != UInt8(ascii: ")") {
            try readValue(depth: depth)
            guard try takeComma(before: UInt8(ascii: ")")) else { break }
            if peek == UInt8(ascii: ")") { throw unexpected("a value") }
            json += ","
        }
        offset += 1
        json += "]"
    }

    /// Takes a comma between elements; false if the closing bracket follows instead.
    mutating func takeComma(before bracket: UInt8) throws(DecodeError) -> Bool {
        skipSpace()
        guard let byte = peek else { throw end("a comma or a closing bracket") }
        if byte == bracket { return false }
        guard byte == UInt8(ascii: ",") else { throw unexpected("a comma or a closing bracket") }
        offset += 1
        skipSpace()
        return true
    }

    /// Takes the semicolon after a member, or a line's end or a closing brace instead.
    private mutating func readSemicolon() throws(DecodeError) {
        let before = offset
        skipSpace()
        guard let byte = peek else { throw end("a semicolon") }
        if byte == UInt8(ascii: ";") {
            offset += 1
        } else if byte != UInt8(ascii: "}"), !text[before..<offset].contains(UInt8(ascii: "\n")) {
            throw unexpected("a semicolon")
        }
    }

    func checkDepth(_ depth: Int) throws(DecodeError) {
        guard depth <= Self.deepest else {
            throw DecodeError(.limitExceeded, at: offset, "nested deeper than \(Self.deepest) levels")
        }
    }

    // MARK: Texts

    mutating func readText() throws(DecodeError) -> String {
        if peek == UInt8(ascii: "\"") { return try readQuoted() }
        let start = offset
        while let byte = peek, Self.isBare(byte) { offset += 1 }
        guard offset > start else { throw peek == nil ? end("a word") : unexpected("a word") }
        return String(decoding: text[start..<offset], as: UTF8.self)
    }

    private mutating func readQuoted() throws(DecodeError) -> String {
        offset += 1
        var units: [UInt16] = []
        var bytes: [UInt8] = []
        // Octal escapes are bytes of UTF-8, so that several make one character.
        var octal: Int?
        func flush() throws(DecodeError) {
            if let octal, String(validating: bytes, as: UTF8.self) == nil {
                throw DecodeError(.invalidEscape, at: octal, "octal escapes whose bytes are not UTF-8")
            }
            octal = nil
            units += Array(String(decoding: bytes, as: UTF8.self).utf16)
            bytes = []
        }
        while let byte = peek {
            offset += 1
            if byte == UInt8(ascii: "\"") {
                try flush()
                return String(decoding: units, as: UTF16.self)
            }
            if byte == UInt8(ascii: "\\") {
                // A backslash before a non-ASCII character has no effect.
                if let next = peek, next >= 0x80 { continue }
                if let byte = readOctal() {
                    octal = octal ?? offset - 4
                    bytes.append(byte)
                    continue
                }
                try flush()
                units.append(try readEscape())
            } else {
                bytes.append(byte)
            }
        }
        throw end("a closing quote")
    }

    /// Reads the three digits of an octal escape; nil if something else follows the backslash.
    private mutating func readOctal() -> UInt8? {
        let digits = text[offset...].prefix(3)
        guard digits.count == 3, digits.allSatisfy({ (0x30...0x37).contains($0) }) else { return nil }
        let value = digits.reduce(0) { $0 * 8 + Int($1 - 0x30) }
        guard value < 256 else { return nil }
        offset += 3
        return UInt8(value)
    }

    /// Parses the text after a backslash: `\Uxxxx`, a UTF-16 code unit as in logs, or one character.
    private mutating func readEscape() throws(DecodeError) -> UInt16 {
        guard let byte = peek else { throw end("an escape") }
        offset += 1
        switch byte {
        case UInt8(ascii: "n"): return 0x0A
        case UInt8(ascii: "r"): return 0x0D
        case UInt8(ascii: "t"): return 0x09
        case UInt8(ascii: "U"), UInt8(ascii: "u"):
            let digits = text[offset...].prefix(4)
            guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
                let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
            else { throw DecodeError(.invalidEscape, at: offset - 2, "\\U needs four hexadecimal digits") }
            offset += 4
            return unit
        default: return UInt16(byte)
        }
    }

    /// Reads the description of data, which stays text.
    private mutating func readData(until end: UInt8) throws(DecodeError) -> String {
        let start = offset
        while let byte = peek, byte != end { offset += 1 }
        guard peek != nil else { throw self.end("a closing \(end == UInt8(ascii: ">") ? "angle bracket" : "brace")") }
        offset += 1
        return String(decoding: text[start..<offset], as: UTF8.self)
    }

    private static func isBare(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "._/:$-+".utf8.contains(byte)
        }
    }

    static func isNumber(_ word: String) -> Bool {
        word.first.map { $0.isNumber || $0 == "-" } == true && JSONNumber.isNumber(word.utf8.span, 0..<word.utf8.count)
    }

    // MARK: Position

    mutating func notePlace() { places.append((json.utf8.count, offset)) }

    var peek: UInt8? { offset < text.count ? text[offset] : nil }

    func isAt(_ expected: String) -> Bool { text[offset...].starts(with: expected.utf8) }

    mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || (0x09...0x0D).contains(byte) { offset += 1 }
    }

    private mutating func skipBrackets() {
        while peek == UInt8(ascii: ")") {
            offset += 1
            skipSpace()
        }
    }

    func end(_ expected: String) -> DecodeError {
        DecodeError(.unexpectedEnd, at: text.count, "the description ends where \(expected) is expected")
    }

    func unexpected(_ expected: String) -> DecodeError {
        DecodeError(.unexpectedCharacter, at: offset, "expected \(expected), in \(language)")
    }
}
