/// One JSON value as positions in the payload's buffer: eight bytes, no copy.
///
/// A string's positions leave its quotes out; a container's include its brackets.
struct JSONToken: Equatable {
    enum Kind: UInt8 {
        case absent
        case string
        case number
        case `true`
        case `false`
        case null
        case object
        case array
    }

    let start: UInt32
    /// The length, and in the lowest four bits the kind and whether there are escapes: a message holds dozens of tokens
    /// and moves them often.
    private let packed: UInt32

    static let absent = JSONToken(.absent, 0, 0)

    init(_ kind: Kind, _ start: Int, _ end: Int, hasEscapes: Bool = false) {
        self.start = UInt32(truncatingIfNeeded: start)
        packed = UInt32(truncatingIfNeeded: end &- start) &<< 4 | (hasEscapes ? 8 : 0) | UInt32(kind.rawValue)
    }

    var end: UInt32 { start &+ packed &>> 4 }
    var range: Range<Int> { Int(start)..<Int(end) }
    var isPresent: Bool { packed & 7 != 0 }
    var kind: Kind { Kind(rawValue: UInt8(truncatingIfNeeded: packed & 7)) ?? .absent }
    /// Whether a string holds a backslash, so that its bytes are not yet its text.
    var hasEscapes: Bool { packed & 8 != 0 }
}
