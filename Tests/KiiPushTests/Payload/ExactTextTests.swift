import Testing

@testable import KiiPush

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

    @Test("a list is split at commas, without the spaces before each part and without empty parts")
    func list() {
        #expect("1, 2,, 3 ,".listedByCommas == ["1", "2", "3 "])
        #expect("".listedByCommas.isEmpty)
        #expect(",\u{301},a".listedByCommas.map { Array($0.utf8) } == [[0xCC, 0x81], [0x61]])
    }

    @Test("equal bytes hash the same, of every length")
    func hashing() {
        for length in 0...20 {
            let text = String("abcdefghijklmnopqrstuvwxyz".prefix(length))
            #expect(ExactText(text).hashValue == ExactText(String(text.reversed().reversed())).hashValue)
        }
        #expect(Set([ExactText(Self.composed), ExactText(Self.decomposed), ExactText(Self.composed)]).count == 2)
    }

    @Test("canonically equivalent keys are looked up separately")
    func keys() throws {
        let text = #"{"\#(Self.composed)":1,"\#(Self.decomposed)":2}"#
        let value = try #require(DataValue(json: text))
        #expect(value[Self.composed]?.integer == 1 && value[Self.decomposed]?.integer == 2)
        #expect(value == DataValue(json: #"{"\#(Self.decomposed)":2,"\#(Self.composed)":1}"#))
        #expect(value != DataValue(json: #"{"\#(Self.decomposed)":1,"\#(Self.composed)":2}"#))
        #expect(DataValue.string(Self.composed) != .string(Self.decomposed))
        #expect(KiiEvent(Self.composed) != KiiEvent(Self.decomposed))
    }
}
