// What can be said of patterns without a message: which takes all that another takes, and which never meet.

import KiiPush

extension TextPattern {
    /// Whether every text that `other` takes is taken here too; exact, also for several alternatives.
    func covers(_ other: TextPattern) -> Bool {
        if takesAnything { return true }
        return other.alternatives.allSatisfy(covers)
    }

    /// Whether every text of one alternative is taken here.
    func covers(_ alternative: Alternative) -> Bool {
        if takesAnything { return true }
        switch alternative {
        case .exactly(let text): return matches(text)
        case .pieces(let pieces):
            // A star is tried as a byte that no text of UTF-8 has: only a star can take it, and a star takes anything.
            var bytes: [UInt8] = []
            for (number, piece) in pieces.enumerated() {
                if number > 0 { bytes.append(0xFF) }
                bytes += piece.utf8
            }
            return matches(bytes.span, 0..<bytes.count)
        }
    }

    /// False only if no text can be taken by both.
    func mayMeet(_ other: TextPattern) -> Bool {
        alternatives.contains { mine in other.alternatives.contains { mine.mayMeet($0) } }
    }
}

extension TextPattern.Alternative {
    /// False only if no text can be taken by both.
    fileprivate func mayMeet(_ other: Self) -> Bool {
        switch (self, other) {
        case (.exactly(let text), _): return TextPattern([other]).matches(text)
        case (_, .exactly(let text)): return TextPattern([self]).matches(text)
        case (.pieces(let mine), .pieces(let theirs)):
            // Only the ends, which are anchored, are compared.
            return Self.agree(mine.first, theirs.first) && Self.agree(mine.last, theirs.last, fromEnd: true)
        }
    }

    private static func agree(_ left: String?, _ right: String?, fromEnd: Bool = false) -> Bool {
        guard let left, let right else { return true }
        if fromEnd { return zip(left.utf8.reversed(), right.utf8.reversed()).allSatisfy { $0 == $1 } }
        return zip(left.utf8, right.utf8).allSatisfy { $0 == $1 }
    }

    /// What every text of it begins with, and whether that is all of it.
    var head: (text: String, isWhole: Bool) {
        switch self {
        case .exactly(let text): (text, true)
        case .pieces(let pieces): (pieces.first ?? "", false)
        }
    }
}
