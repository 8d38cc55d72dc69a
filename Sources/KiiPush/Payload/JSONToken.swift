/// One JSON value as positions in the payload's buffer: twelve bytes, no copy.
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

    var start: UInt32
    var end: UInt32
    var kind: Kind
    /// Whether a string holds a backslash, so that its bytes are not yet its text.
    var hasEscapes: Bool

    static let absent = JSONToken(.absent, 0, 0)

    init(_ kind: Kind, _ start: Int, _ end: Int, hasEscapes: Bool = false) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.end = UInt32(truncatingIfNeeded: end)
        self.kind = kind
        self.hasEscapes = hasEscapes
    }

    var range: Range<Int> { Int(start)..<Int(end) }
    var isPresent: Bool { kind != .absent }
}
