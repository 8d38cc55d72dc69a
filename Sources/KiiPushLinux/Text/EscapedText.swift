import KiiPush

/// A text made safe to print on one line of a terminal, whoever wrote it.
///
/// ```swift
/// print("alert: \(EscapedText(alert.body))")
/// ```
///
/// Control characters of both sets, DEL, the line ends of Unicode and the characters that turn the direction of
/// writing stand there as escapes, such as `\n` and `\u{1B}`: the text can move no cursor, forge no line and show
/// nothing in another order than it is written. All other characters stay, backslashes too, so a text that has
/// `\n` written out looks like one with a line feed; where that matters, print JSON.
public struct EscapedText: Sendable, Hashable, CustomStringConvertible {
    /// The text with its escapes.
    public let description: String

    /// Escapes a text.
    public init(_ text: String) {
        // Nearly every text is clean, and then is shared, not copied.
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
