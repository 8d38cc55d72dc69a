import KiiPush
import KiiPushSystem

/// The texts of an alert to show, before they are escaped for the destination.
struct AlertText {
    let title: String
    /// The subtitle and the body, if present.
    let paragraphs: [String]

    /// Nil if the alert has no text; a blank text counts as none.
    init?(_ alert: Alert?, title: String?, appName: String) {
        let said = [alert?.title, alert?.subtitle, alert?.body].map { Self.unlessBlank($0) }
        guard said.contains(where: { $0 != nil }) else { return nil }
        // notify-send requires a title, so an app without a name gets one too.
        self.title = Self.unlessBlank(title) ?? said[0] ?? Self.unlessBlank(appName) ?? "Push"
        paragraphs = said.dropFirst().compactMap { $0 }
    }

    private static func unlessBlank(_ text: String?) -> String? {
        guard let text, !text.allSatisfy(\.isWhitespace) else { return nil }
        return text
    }

    /// The title on a line, each paragraph on its own; a payload's text cannot add further lines.
    var terminalText: String {
        var text = "\(EscapedText(title))\n"
        for paragraph in paragraphs { text += "  \(EscapedText(paragraph))\n" }
        return text
    }

    /// The title and the body as arguments of `notify-send`.
    ///
    /// Truncated to lengths that every notification server shows and every kernel accepts as an argument.
    var notificationArguments: [String] {
        let body = paragraphs.map { Self.notificationBody(Self.cut($0, 4_000)) }.joined(separator: "\n")
        let title = "\(EscapedText(Self.cut(title, 250)))"
        return body.isEmpty ? [title] : [title, body]
    }

    private static func notificationBody(_ text: String) -> String {
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        return lines.map { "\(EscapedText(String($0)))" }.joined(separator: "\n").replacingScalars { scalar in
            switch scalar {
            // Servers read the body as markup.
            case "&": "&amp;"
            case "<": "&lt;"
            case ">": "&gt;"
            // notify-send interprets backslash escapes in the body, and only there.
            case "\\": "\\\\"
            default: nil
            }
        }
    }

    /// At most this many Unicode scalars, since a single `Character` has no size limit.
    private static func cut(_ text: String, _ count: Int) -> String {
        guard let end = text.unicodeScalars.index(text.startIndex, offsetBy: count, limitedBy: text.endIndex),
            end < text.endIndex
        else { return text }
        return String(text.unicodeScalars[..<end]) + "…"
    }
}
