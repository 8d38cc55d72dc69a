// Relations of patterns without a message: one contains another, or they never match the same text.

import KiiPush

extension TextPattern {
    /// Whether this pattern matches every text that `other` matches; exact, also for several alternatives.
    func covers(_ other: TextPattern) -> Bool {
        if takesAnything { return true }
        return other.alternatives.allSatisfy(covers)
    }

    /// Whether this pattern matches every text of one alternative.
    func covers(_ alternative: Alternative) -> Bool {
        if takesAnything { return true }
        switch alternative {
        case .exactly(let text): return matches(text)
        case .pieces(let pieces):
            // A star is tried as a byte that UTF-8 never uses: only a star can match it, and a star matches anything.
            var bytes: [UInt8] = []
            for (number, piece) in pieces.enumerated() {
                if number > 0 { bytes.append(0xFF) }
                bytes += piece.utf8
            }
            return matches(bytes.span, 0..<bytes.count)
        }
    }

    /// False only if no text matches both.
    func mayMeet(_ other: TextPattern) -> Bool {
        alternatives.contains { mine in other.alternatives.contains { mine.mayMeet($0) } }
    }
}

extension TextPattern.Alternative {
    /// False only if no text matches both.
    fileprivate func mayMeet(_ other: Self) -> Bool {
        switch (self, other) {
        case (.exactly(let text), _): return TextPattern([other]).matches(text)
        case (_, .exactly(let text)): return TextPattern([self]).matches(text)
        case (.pieces(let mine), .pieces(let theirs)):
            // Only the anchored ends are compared.
            return Self.agree(mine.first, theirs.first) && Self.agree(mine.last, theirs.last, fromEnd: true)
        }
    }

    private static func agree(_ left: String?, _ right: String?, fromEnd: Bool = false) -> Bool {
        guard let left, let right else { return true }
        if fromEnd { return zip(left.utf8.reversed(), right.utf8.reversed()).allSatisfy { $0 == $1 } }
        return zip(left.utf8, right.utf8).allSatisfy { $0 == $1 }
    }
}
