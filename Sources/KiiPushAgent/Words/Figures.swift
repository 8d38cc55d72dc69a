import KiiPushSystem

/// Formats numbers for people and narrow columns.
package enum Figures {
    /// A count with thousands separators: `12,345`.
    package static func count(_ number: Int64) -> String {
        var digits = Array(String(number.magnitude))
        var place = digits.count - 3
        while place > 0 {
            digits.insert(",", at: place)
            place -= 3
        }
        return (number < 0 ? "-" : "") + String(digits)
    }

    /// Milliseconds in a fitting unit: `0.3 ms`, `12 ms`, `1.5 s`, `2 min`; `-` for nil.
    package static func time(_ milliseconds: Double?) -> String {
        guard let milliseconds else { return "-" }
        if milliseconds >= 99_500 { return "\(Int64((milliseconds / 60_000).rounded())) min" }
        if milliseconds >= 999.5 { return "\(short(milliseconds / 1000)) s" }
        return "\(short(milliseconds)) ms"
    }

    /// Bytes in a fitting unit: `812 B`, `3.4 KiB`.
    package static func bytes(_ bytes: Int64) -> String {
        if bytes < 1024 { return "\(bytes) B" }
        var (value, units) = (Double(bytes) / 1024, ["KiB", "MiB", "GiB", "TiB"][...])
        while value >= 1023.5, units.count > 1 { (value, units) = (value / 1024, units.dropFirst()) }
        return "\(short(value)) \(units.first ?? "")"
    }

    /// A number below 1,024 with at most one decimal place, and none from 10 on.
    package static func short(_ value: Double) -> String {
        guard value.isFinite else { return "-" }
        if value >= 9.95 { return String(Int64(value.rounded())) }
        let tenths = Int64((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    /// Seconds in their two largest units: `3h 2m`.
    package static func seconds(_ seconds: Int64) -> String { Duration.seconds(seconds).inWords }

    /// A text in a column of this width: padded on one side, or truncated with `…`.
    package static func column(_ text: String, _ width: Int, isRight: Bool = false) -> String {
        let shown = escaped(text)
        guard shown.count <= width else { return width > 0 ? String(shown.prefix(width - 1)) + "…" : "" }
        let spaces = String(repeating: " ", count: width - shown.count)
        return isRight ? spaces + shown : shown + spaces
    }

    /// A line of columns in lines of at most this width: broken at spaces if possible, the later ones indented.
    package static func folded(_ line: String, _ width: Int) -> [String] {
        let indent = "    "
        let width = max(width, indent.count + 8)
        var lines: [String] = []
        var rest = line[...]
        while rest.count > width {
            let head = rest.prefix(width + 1)
            let space = head.dropFirst(indent.count).lastIndex(of: " ")
            let cut = space ?? rest.index(rest.startIndex, offsetBy: width)
            lines.append(rest[..<cut].trimmingSpacesAtEnd)
            rest = (indent + rest[cut...].drop { $0 == " " })[...]
        }
        return lines + [String(rest)]
    }

    /// A text in lines of at most this width, broken at spaces if possible.
    package static func wrapped(_ text: String, _ width: Int) -> [String] {
        let width = max(width, 8)
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ", omittingEmptySubsequences: true) {
            var word = String(word)
            if !line.isEmpty, line.count + 1 + word.count > width {
                lines.append(line)
                line = ""
            }
            while word.count > width {
                lines.append(String(word.prefix(width)))
                word = String(word.dropFirst(width))
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        return line.isEmpty && !lines.isEmpty ? lines : lines + [line]
    }
}

extension Substring {
    package var trimmingSpacesAtEnd: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}

extension String {
    /// The text followed by spaces, `width` characters in all.
    package func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}

extension Duration {
    private static let units: [(name: String, seconds: Int64)] = [("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)]

    /// The duration in words, rounded up to a second and reduced to its two largest units: `59m 30s`.
    package var inWords: String {
        let (whole, fraction) = components
        var rest = whole + (fraction > 0 ? 1 : 0)
        var words: [String] = []
        for unit in Self.units.reversed() where words.count < 2 {
            let count = rest / unit.seconds
            rest -= count * unit.seconds
            // Nobody needs to know that 3 days and 5 seconds are left.
            if count == 0 { if words.isEmpty { continue } else { break } }
            words.append("\(count)\(unit.name)")
        }
        return words.isEmpty ? "0s" : words.joined(separator: " ")
    }
}

/// A text from a payload or a command line, safe for one line of a terminal.
package func escaped(_ text: String) -> String { EscapedText(text).description }
