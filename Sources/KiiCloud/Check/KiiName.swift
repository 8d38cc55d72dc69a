import KiiPush

/// The names that Kii accepts, to check what a person writes; what arrives is not checked.
package enum KiiName: String, Sendable {
    case bucket
    case topic
    case object

    /// Why nothing of this sort can have a name that consists of these pieces with any text between them; nil if
    /// something can.
    package func fault(pieces: [String]) -> String? {
        let marks = self == .object ? "-_." : "-_"
        let most = self == .object ? 100 : 64
        let isShort = pieces.reduce(0) { $0 + $1.utf8.count } <= most
        let isPlain = pieces.allSatisfy { piece in
            piece.utf8.allSatisfy { byte in byte.isASCIILetter || byte.isDigit || marks.utf8.contains(byte) }
        }
        if isShort, isPlain, pieces != [""] { return nil }
        return "\(self == .object ? "an object's id" : "a \(rawValue)'s name") has only letters, digits, "
            + "\(self == .object ? "'-', '_' and '.'" : "'-' and '_'"), and at most \(most) of them"
    }
}
