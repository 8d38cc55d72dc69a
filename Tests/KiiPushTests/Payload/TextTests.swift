import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// Two spellings of one character are two texts here, as they are two keys in JSON.
struct ExactTextTests {
    private static let composed = "caf\u{E9}"
    private static let decomposed = "cafe\u{301}"

    @Test("compares texts byte for byte")
    func same() {
        #expect(Self.composed == Self.decomposed, "to Swift they are")
        #expect(!Self.composed.isExactly(Self.decomposed))
        #expect(Self.composed.isExactly(Self.composed) && "".isExactly(""))
        #expect(!"a".isExactly("") && !"a".isExactly("ab") && !"ab".isExactly("aB"))
    }

    @Test("compares a prefix byte for byte, even before a combining character")
    func prefix() {
        #expect("event\u{301}1".begins(exactlyWith: "event"))
        #expect("event".begins(exactlyWith: "event") && "event".begins(exactlyWith: ""))
        #expect(!"even".begins(exactlyWith: "event") && !"Event".begins(exactlyWith: "event"))
        #expect("user:\u{301}a".droppingFirst(bytes: 5).isExactly("\u{301}a"))
    }

    @Test("equal bytes hash the same, of every length")
    func hashing() {
        for length in 0...20 {
            let text = String("abcdefghijklmnopqrstuvwxyz".prefix(length))
            #expect(ExactText(text).hashValue == ExactText(String(text.reversed().reversed())).hashValue)
        }
        #expect(Set([ExactText(Self.composed), ExactText(Self.decomposed), ExactText(Self.composed)]).count == 2)
    }
}

struct ByteSpanTests {
    private let bytes: [UInt8] = Array("kiicloud://users/é-12345678".utf8)

    // A span cannot be an operand of #expect, so the call stands in a function.
    private func matches(_ range: Range<Int>, _ other: [UInt8]) -> Bool {
        bytes.span.matches(range, in: other.span, 0..<other.count)
    }

    @Test("ranges match when they have the same bytes, at every length and place")
    func matches() {
        for start in bytes.indices {
            for end in start...bytes.count {
                let copy = Array(bytes[start..<end])
                #expect(matches(start..<end, copy))
                for index in copy.indices {
                    var other = copy
                    other[index] ^= 0x20
                    #expect(!matches(start..<end, other))
                }
                if end < bytes.count { #expect(!matches(start..<(end + 1), copy)) }
            }
        }
    }
}
