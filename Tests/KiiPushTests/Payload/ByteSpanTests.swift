import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct ByteSpanTests {
    private let bytes: [UInt8] = Array("kiicloud://users/é-12345678".utf8)

    // A span cannot be an operand of #expect, so the calls stand in functions.
    private func matches(_ range: Range<Int>, _ other: [UInt8]) -> Bool {
        bytes.span.matches(range, in: other.span, 0..<other.count)
    }
    private func matches(_ range: Range<Int>, _ text: String) -> Bool { bytes.span.matches(range, text) }
    private func begins(_ range: Range<Int>, _ prefix: String) -> Bool { bytes.span.begins(range, with: prefix) }
    private func string(_ range: Range<Int>) -> String { bytes.span.string(range) }

    @Test("a word holds eight bytes, least significant first")
    func word() {
        let bytes: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 0x80, 9]
        #expect(bytes.span.word(at: 0) == 0x8007_0605_0403_0201)
        #expect(bytes.span.word(at: 1) == 0x0980_0706_0504_0302)
    }

    @Test("a shorter word is padded with zeros, also near the text's end", arguments: 0...8)
    func shortWord(_ length: Int) {
        let bytes: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
        let mask = length == 8 ? UInt64.max : (1 << UInt64(length * 8)) - 1
        #expect(bytes.span.word(at: 1, length: length) == 0x0908_0706_0504_0302 & mask)
        #expect(
            bytes.span.word(at: 12 - length, length: length)
                == bytes[(12 - length)...].reversed()
                .reduce(0) { $0 << 8 | UInt64($1) })
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

    @Test("a prefix is found only where the text begins with it")
    func begins() {
        #expect(begins(0..<bytes.count, "kiicloud://"))
        #expect(begins(0..<11, "kiicloud://") && !begins(0..<10, "kiicloud://"))
        #expect(begins(11..<16, "users") && !begins(11..<15, "users"))
        #expect(begins(4..<4, "") && !begins(4..<4, "c"))
        #expect(!begins(0..<bytes.count, "Kiicloud"))
    }

    @Test("copies text unchanged; a range that splits a character is empty")
    func string() {
        #expect(string(17..<bytes.count) == "é-12345678")
        #expect(string(3..<3) == "")
        #expect(string(18..<bytes.count) == "")
        #expect(matches(0..<3, "kii") && !matches(0..<3, "Kii") && !matches(0..<4, "kii"))
    }
}
