/// Finds the known name that was probably meant, for error messages.
package enum Suggestion {
    /// A longer text, in bytes, is not a mistyped name.
    private static let longest = 64

    /// How many names are compared: the first ones.
    private static let mostNames = 1000

    /// The name among `known` that is nearest to `name`; nil if none is near.
    ///
    /// The nearest one takes the fewest insertions, deletions, replacements and swaps of neighbours, whatever the case:
    /// at most one for names up to three letters, two up to seven, else three.
    package static func of(_ name: String, among known: [String]) -> String? {
        guard name.utf8.count <= longest else { return nil }
        let wanted = Array(name.lowercased().unicodeScalars)
        var best: (name: String, distance: Int)?
        for candidate in known.prefix(mostNames) where candidate.utf8.count <= longest {
            let letters = Array(candidate.lowercased().unicodeScalars)
            let most = letters.count <= 3 ? 1 : letters.count <= 7 ? 2 : 3
            guard abs(letters.count - wanted.count) <= most else { continue }
            let distance = distance(wanted, letters)
            // If all letters may change, nothing of a short name is left.
            if distance <= most, distance < letters.count, distance < best?.distance ?? .max {
                best = (candidate, distance)
            }
        }
        return best?.name
    }

    package static func unknown(_ what: String, _ name: String, known: [String]) -> String {
        let complaint = "unknown \(what) '\(shown(name))'"
        if let nearest = of(name, among: known) { return "\(complaint); did you mean '\(shown(nearest))'?" }
        return known.isEmpty ? "\(complaint); there is none" : "\(complaint); known: \(listed(known))"
    }

    /// The first names of a list; `nothing` if it is empty.
    package static func listed(_ names: [String]) -> String {
        // Ten thousand registered names would not help.
        let first = names.prefix(16).map(shown).joined(separator: ", ")
        return names.isEmpty ? "nothing" : first + (names.count > 16 ? " and \(names.count - 16) more" : "")
    }

    /// A text for one line of a report: truncated, and without control characters.
    package static func shown(_ text: String) -> String {
        let head = text.unicodeScalars.prefix(longest)
        var shown = String(String(String.UnicodeScalarView(head)).quotedAsJSON.dropFirst().dropLast())
        if head.endIndex < text.unicodeScalars.endIndex { shown += "…" }
        return shown
    }

    /// The number of edits between two names, a swap of neighbours being one.
    private static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
        var before: [Int] = []
        var last = Array(0...right.count)
        for (row, letter) in left.enumerated() {
            var next = [row + 1]
            for (column, other) in right.enumerated() {
                var edits = min(last[column] + (letter == other ? 0 : 1), last[column + 1] + 1, next[column] + 1)
                if row > 0, column > 0, letter == right[column - 1], left[row - 1] == other {
                    edits = min(edits, before[column - 1] + 1)
                }
                next.append(edits)
            }
            (before, last) = (last, next)
        }
        return last[right.count]
    }
}
