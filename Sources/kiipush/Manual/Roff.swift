import KiiPush
import KiiPushAgent

/// Texts in the language of manual pages, roff.
enum Roff {
    /// A text inside a line, in which the formatter interprets nothing.
    static func escaped(_ text: String) -> String {
        text.replacingScalars { scalar in
            switch scalar {
            case "\\": "\\e"
            case "-": "\\-"
            case "'": "\\(aq"
            case "`": "\\(ga"
            case "~": "\\(ti"
            case "^": "\\(ha"
            case "…": "..."
            case _ where scalar.isASCII: nil
            default: "\\[u\(scalar.value.digits(4, radix: 16, uppercase: true))]"
            }
        }
    }

    /// Lines of running text, none of which the formatter interprets as a request.
    static func text(_ text: String) -> [String] { Figures.wrapped(text, 68).map { line(escaped($0)) } }

    /// Lines that are shown unchanged.
    static func lines(_ lines: [String]) -> [String] {
        [".RS 4", ".nf"] + lines.map { line(escaped($0)) } + [".fi", ".RE"]
    }

    private static func line(_ line: String) -> String { line.hasPrefix(".") ? "\\&" + line : line }
}
