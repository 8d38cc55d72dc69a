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
    private static func isKey(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0.isKeyByte }
    }
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
        if let start = PythonBytes.start(in: bytes), bytes[(start + 2)...].first == UInt8(ascii: "{"),
            PythonBytes.read(bytes) == nil
        {
            return "these bytes, as Python prints them, do not end with their quote; print the whole payload's text"
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
