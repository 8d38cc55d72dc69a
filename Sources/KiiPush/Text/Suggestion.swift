/// Finds the known name that somebody probably meant, and says so.
package enum Suggestion {
    /// Beyond this many bytes nobody mistyped a name.
    private static let longest = 64

    /// How many names are compared; of more the first ones.
    private static let mostNames = 1000

    /// The name among `known` that `name` is nearest to; nil when none is near.
    ///
    /// Names that differ in case only come first, then those that the fewest insertions, deletions, replacements and
    /// swaps of neighbours make equal: at most one for names up to three letters, two up to seven, else three.
    package static func of(_ name: String, among known: [String]) -> String? {
        guard name.utf8.count <= longest else { return nil }
        let wanted = Array(name.lowercased().unicodeScalars)
        var best: (name: String, distance: Int)?
        for candidate in known.prefix(mostNames) where candidate.utf8.count <= longest {
            let letters = Array(candidate.lowercased().unicodeScalars)
            let most = letters.count <= 3 ? 1 : letters.count <= 7 ? 2 : 3
            guard abs(letters.count - wanted.count) <= most else { continue }
            let distance = distance(wanted, letters)
            // Nothing of a short name is left when all its letters may change.
            if distance <= most, distance < letters.count, distance < best?.distance ?? .max {
                best = (candidate, distance)
            }
        }
        return best?.name
    }

    /// What to say of a name that is none of the known ones.
    package static func unknown(_ what: String, _ name: String, known: [String]) -> String {
        let complaint = "unknown \(what) '\(shown(name))'"
        if let nearest = of(name, among: known) { return "\(complaint); did you mean '\(shown(nearest))'?" }
        guard !known.isEmpty else { return "\(complaint); there is none" }
        // A list of ten thousand registered names would help nobody.
        let listed = known.prefix(16).map(shown).joined(separator: ", ")
        return "\(complaint); known: \(listed)\(known.count > 16 ? " and \(known.count - 16) more" : "")"
    }

    /// A text made fit for one line of a report: cut, and without control characters.
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
