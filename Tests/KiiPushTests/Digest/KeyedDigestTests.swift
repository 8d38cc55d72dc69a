import KiiPushTesting
import Testing

@testable import KiiPush

struct KeyedDigestTests {
    @Test("printing a secret shows none of its bits")
    func secret() {
        let secret = DedupeSecret(0xDEAD_BEEF, 77_777)
        var dumped = ""
        dump([secret], to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), dumped, "\(Optional(secret) as Any)"] {
            #expect(!text.contains("3735928559") && !text.contains("deadbeef") && !text.contains("77777"), "\(text)")
        }
    }

    /// The digests of the words 0x0101…, 0x0202… and so on, from another program's SipHash-1-3-128, which gave the
    /// published vectors of SipHash-2-4-128 too.
    private static let digests = [
        (0, "bea58827b2bc7ee7013030dd6adb62fd"), (1, "225a075c9c329e1903e76e9957223e38"),
        (2, "62c49affad59784d15afe7e8f97439c3"), (3, "6e012ef7ee40565d61b6c92a3c0e4991"),
        (7, "c11d84003857f941666361f2ddcce541"), (31, "3c749912282ac3c7f1dd10643281a3b4"),
        (32, "a5779b99fd808ae91ca13bfcc2f6cd2f"), (100, "7652d68b223763c24b206113df361fc7"),
    ]

    @Test("the digest of whole words is SipHash-1-3-128 of their bytes", arguments: digests)
    func words(count: Int, expected: String) {
        var digest = KeyedDigest(DedupeSecret(0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908))
        for word in 0..<count { digest.add(UInt64(word + 1) * 0x0101_0101_0101_0101) }
        // SipHash closes with a word of its own, the length in its highest byte; the digest leaves lengths to its
        // parts.
        digest.add(UInt64(count * 8 & 0xFF) << 56)
        #expect(digest.finish().description == expected)
    }

    @Test("a part is digested as meaning, length and zero-padded bytes", arguments: 0...33)
    func parts(length: Int) {
        // Bytes that are not zero all around, so that one too many or too few would show.
        let text = (0..<(length + 20)).map { UInt8(1 + $0) }
        var digest = KeyedDigest(.published)
        digest.add(9, text.span, 3..<(3 + length))
        var words = KeyedDigest(.published)
        words.add(9 << 56 | UInt64(length))
        for start in stride(from: 0, to: length, by: 8) {
            let bytes = text[(3 + start)..<(3 + min(start + 8, length))]
            words.add(bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) })
        }
        #expect(digest.finish() == words.finish())
    }

    @Test("each half of a digest tells parts apart, and the first can be made alone")
    func halves() {
        var (firsts, seconds): (Set<UInt64>, Set<UInt64>) = ([], [])
        for number in UInt64(0)..<500 {
            var digest = KeyedDigest(.published)
            digest.add(number)
            #expect(digest.half == digest.finish().first)
            firsts.insert(digest.finish().first)
            seconds.insert(digest.finish().second)
        }
        #expect(firsts.count == 500 && seconds.count == 500)
    }

    @Test("a key prints as 32 hexadecimal digits with leading zeros")
    func description() {
        #expect(DedupeKey(first: 0x1F, second: 0).description == "000000000000001f0000000000000000")
        #expect(DedupeKey(first: .max, second: 1).description == "ffffffffffffffff0000000000000001")
    }
}

struct DigestTableTests {
    @Test("holds the places of each key, also of colliding ones", arguments: 1...4 as ClosedRange<UInt64>)
    func likeDictionary(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (table, expected) = (DigestTable(), [DedupeKey: [UInt32]]())
        // Ends of the table, equal halves, and keys that differ only beyond what selects a slot.
        let halves: [UInt64] = [0, 1, 6, 7, 8, 15, 16, 1 << 32, .max, .max - 1]
        let keys = halves.flatMap { first in halves.map { DedupeKey(first: first, second: $0) } }
        for place in 0..<5000 as Range<UInt32> {
            let key = keys[Int.random(in: 0..<keys.count, using: &random)]
            if Bool.random(using: &random) {
                table.insert(key, place)
                expected[key, default: []].append(place)
            } else {
                // One that is there, or none.
                let removed = expected[key]?.randomElement(using: &random) ?? place
                table.remove(key, removed)
                expected[key]?.removeAll { $0 == removed }
            }
        }
        for key in keys {
            var found: Set<UInt32> = []
            #expect(table.first(of: key) { !found.insert($0).inserted } == nil, "a place is there once")
            #expect(found == Set(expected[key] ?? []))
        }
    }
}
