extension String {
    /// The text, cut after so many bytes; `…` follows what is left of a longer one.
    package func cut(to most: Int) -> String {
        utf8.count <= most ? self : String(decoding: utf8.prefix(most), as: UTF8.self) + "…"
    }

    /// The text in quotes, safe for JSON and a terminal: quotes, backslashes, control characters of both sets, and the
    /// two line ends of Unicode are escaped.
    package var quotedAsJSON: String {
        var quoted = ""
        quoted.append(quoted: self)
        return quoted
    }

    package mutating func append(quoted text: String) {
        self += "\""
        if text.utf8.allSatisfy(\.isPlain) { self += text } else { append(escaped: text) }
        self += "\""
    }

    /// The text with some characters replaced; the closure returns nil for those that stay.
    package func replacingScalars(_ replacement: (Unicode.Scalar) -> String?) -> String {
        unicodeScalars.reduce(into: "") { $0 += replacement($1) ?? String($1) }
    }

    private mutating func append(escaped text: String) {
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": self += "\\\""
            case "\\": self += "\\\\"
            case "\n": self += "\\n"
            case "\r": self += "\\r"
            case "\t": self += "\\t"
            case "\u{00}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}":
                self += "\\u" + scalar.value.digits(4, radix: 16)
            default: unicodeScalars.append(scalar)
            }
        }
    }
}

extension UInt8 {
    /// Whether it is an ASCII character that needs no escape in a JSON string.
    fileprivate var isPlain: Bool {
        self >= 0x20 && self < 0x7F && self != UInt8(ascii: "\"") && self != UInt8(ascii: "\\")
    }
}
