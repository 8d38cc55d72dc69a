/// A pattern for names and ids: a text, a text with `*` in it, or any of several patterns.
///
/// Write it as a literal: `"settings"`, `"room-*"`, `["a", "b"]`. A `*` matches any run of characters, even an empty
/// one; a pattern that is only `*` matches every value, but not a missing one. Case matters.
public struct TextPattern: Sendable, Hashable {
    package enum Alternative: Sendable, Hashable {
        case exactly(String)
        /// The pieces between the stars; the first and the last are anchored.
        case pieces([String])

        package func matches(_ text: Span<UInt8>, _ range: Range<Int>) -> Bool {
            switch self {
            case .exactly(let exact): text.matches(range, exact)
            case .pieces(let pieces): TextPattern.matches(text, range, pieces)
            }
        }
    }

    package let alternatives: [Alternative]

    /// Whether one of the alternatives is only `*`, as in most patterns for scopes.
    package let takesAnything: Bool

    /// Any value.
    public static let any: TextPattern = "*"

    /// Exactly this text; `*` has no special meaning.
    public static func exactly(_ text: String) -> TextPattern { TextPattern([.exactly(text)]) }

    /// Any of several patterns.
    public static func anyOf(_ patterns: [TextPattern]) -> TextPattern {
        TextPattern(patterns.flatMap(\.alternatives))
    }

    /// Reads a pattern in which `*` matches any run of characters.
    public init(_ pattern: String) {
        // By scalars, because a `*` before a combining mark forms one character with it, but is still a wildcard.
        let pieces = pattern.unicodeScalars.split(separator: "*", omittingEmptySubsequences: false).map { String($0) }
        self.init([pieces.count == 1 ? .exactly(pattern) : .pieces(pieces)])
    }

    package init(_ alternatives: [Alternative]) {
        self.alternatives = alternatives
        takesAnything = alternatives.contains(.pieces(["", ""]))
    }

    /// The texts of a pattern without `*`, for the index; nil if there is one.
    package var exactTexts: [String]? {
        let texts = alternatives.compactMap { alternative -> String? in
            if case .exactly(let text) = alternative { text } else { nil }
        }
        return texts.count == alternatives.count ? texts : nil
    }

    /// The texts of patterns all of which are without `*`; nil if one is missing.
    static func exactTexts(of patterns: [TextPattern?]) -> [String]? {
        let texts = patterns.compactMap { $0?.exactTexts }
        return texts.count == patterns.count ? texts.flatMap(\.self) : nil
    }

    package func matches(_ text: Span<UInt8>, _ range: Range<Int>) -> Bool {
        if takesAnything { return true }
        // By index, and by a method of the alternative: a loop over the values would copy each text.
        for index in alternatives.indices where alternatives[index].matches(text, range) { return true }
        return false
    }

    package func matches(some text: String?) -> Bool { text.map { matches($0) } ?? false }

    package func matches(_ text: String) -> Bool { matches(text.utf8.span, 0..<text.utf8.count) }

    /// Matches each piece at its first position after the one before: with anchored ends, that finds any match.
    fileprivate static func matches(_ text: Span<UInt8>, _ range: Range<Int>, _ pieces: [String]) -> Bool {
        guard let prefix = pieces.first, let suffix = pieces.last, text.begins(range, with: prefix) else {
            return false
        }
        var start = range.lowerBound + prefix.utf8.count
        let end = range.upperBound - suffix.utf8.count
        guard start <= end, text.matches(end..<range.upperBound, suffix) else { return false }
        for piece in pieces.dropFirst().dropLast() where !piece.isEmpty {
            while !text.begins(start..<end, with: piece) {
                guard start < end else { return false }
                start += 1
            }
            start += piece.utf8.count
        }
        return true
    }
}

extension TextPattern: ExpressibleByStringLiteral, ExpressibleByArrayLiteral {
    /// Reads a pattern in which `*` matches any run of characters.
    public init(stringLiteral pattern: String) { self.init(pattern) }

    /// Any of several patterns.
    public init(arrayLiteral patterns: TextPattern...) { self = .anyOf(patterns) }
}
