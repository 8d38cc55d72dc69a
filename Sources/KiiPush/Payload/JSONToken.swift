/// One JSON value as positions in the payload's buffer, without a string's quotes, and with a container's brackets.
package struct JSONToken: Equatable {
    package enum Kind: UInt8 {
        case absent
        case string
        case number
        case `true`
        case `false`
        case null
        case object
        case array
    }

    package let start: UInt32
    /// The length, and in the lowest four bits the kind and whether there are escapes; packed, because a message has
    /// dozens of tokens and moves them often.
    private let packed: UInt32

    package static let absent = JSONToken(.absent, 0, 0)

    package init(_ kind: Kind, _ start: Int, _ end: Int, hasEscapes: Bool = false) {
        self.start = UInt32(truncatingIfNeeded: start)
        packed = UInt32(truncatingIfNeeded: end &- start) &<< 4 | (hasEscapes ? 8 : 0) | UInt32(kind.rawValue)
    }

    var length: Int { Int(packed &>> 4) }
    var end: UInt32 { start &+ packed &>> 4 }
    package var range: Range<Int> { Int(start)..<Int(end) }
    var isPresent: Bool { packed & 7 != 0 }
    /// Spelled out, because a kind made from a raw value would be optional.
    package var kind: Kind {
        switch packed & 7 {
        case 1: .string
        case 2: .number
        case 3: .true
        case 4: .false
        case 5: .null
        case 6: .object
        case 7: .array
        default: .absent
        }
    }
    /// Whether the bytes are plain text: a string without escapes, or a number.
    var isPlainText: Bool { packed & 15 == 1 || packed & 15 == 2 }
    var hasEscapes: Bool { packed & 8 != 0 }
}

package struct JSONKey {
    let token: JSONToken
    /// The bytes of a short key, the first in the lowest bits; else zero.
    let word: UInt64
}
