import KiiPush

/// A text from any source, made safe to print on one line of a terminal.
///
/// ```swift
/// print("alert: \(EscapedText(alert.body))")
/// ```
///
/// Control characters of both sets, DEL, Unicode's line ends and the characters that change the writing direction are
/// replaced by escapes, such as `\n` and `\u{1B}`: the text cannot move the cursor, forge a line or change the visible
/// order. All other characters stay, including backslashes, so a backslash before an `n` looks like an escaped line
/// feed; if that matters, print JSON.
public struct EscapedText: Sendable, Hashable, CustomStringConvertible {
    /// The text with its escapes.
    public let description: String

    /// Escapes a text.
    public init(_ text: String) {
        // Nearly every text is clean, and is then shared, not copied.
        description = text.unicodeScalars.contains(where: Self.isUnsafe) ? Self.escape(text) : text
    }

    private static func escape(_ text: String) -> String {
        text.replacingScalars { scalar in
            switch scalar {
            case "\n": "\\n"
            case "\r": "\\r"
            case "\t": "\\t"
            case _ where isUnsafe(scalar): "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
            default: nil
            }
        }
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\u{00}"..."\u{1F}", "\u{7F}"..."\u{9F}": true
        case "\u{2028}", "\u{2029}": true
        case "\u{061C}", "\u{200E}", "\u{200F}", "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}": true
        default: false
        }
    }
}
