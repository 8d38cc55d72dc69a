import Testing

@testable import KiiPush
import KiiPushTesting

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

    @Test("the reference in this file is SipHash: it gives the first published vectors of SipHash-2-4-128")
    func reference() {
        let key = (0..<16).map { UInt8($0) }
        let none = SipReference.hash(key, [], rounds: 2, finalRounds: 4)
        #expect(
            none == [
                0xA3, 0x81, 0x7F, 0x04, 0xBA, 0x25, 0xA8, 0xE6, 0x6D, 0xF6, 0x72, 0x14, 0xC7, 0x55, 0x02, 0x93,
            ])
        let one = SipReference.hash(key, [0], rounds: 2, finalRounds: 4)
        #expect(
            one == [
                0xDA, 0x87, 0xC1, 0xD8, 0x6B, 0x99, 0xAF, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9B, 0x22, 0xFC, 0x45,
            ])
    }

    @Test("the digest of whole words is SipHash-1-3-128 of their bytes", arguments: [0, 1, 2, 3, 7, 31, 32, 100])
    func words(count: Int) {
        var source = SeededGenerator(seed: UInt64(count))
        let secret = DedupeSecret(source.next(), source.next())
        var digest = KeyedDigest(secret)
        var bytes: [UInt8] = []
        for _ in 0..<count {
            let word = source.next()
            digest.add(word)
            bytes += SipReference.bytes(word)
        }
        // SipHash closes with a word of its own, the length in its highest byte; the digest leaves lengths to its
        // parts.
        digest.add(UInt64(bytes.count & 0xFF) << 56)
        #expect(digest.finish().bytes == SipReference.hash(secret.bytes, bytes, rounds: 1, finalRounds: 3))
    }

    @Test("a part is digested as meaning, length and zero-padded bytes", arguments: 0...33)
    func parts(length: Int) {
        let secret = DedupeSecret.published
        // Bytes that are not zero all around, so that one too many or too few would show.
        let text = (0..<(length + 20)).map { UInt8(1 + $0) }
        var digest = KeyedDigest(secret)
        digest.add(9, text.span, 3..<(3 + length))

        var padded = Array(text[3..<(3 + length)])
        while padded.count % 8 > 0 { padded.append(0) }
        let header: [UInt8] = [UInt8(length), 0, 0, 0, 0, 0, 0, 9]
        var bytes = header + padded
        // The words of the part stand where SipHash has its closing word, so the last one is that word here.
        let last = Array(bytes.suffix(8))
        bytes.removeLast(8)
        let expected = SipReference.hash(secret.bytes, bytes, closing: last, rounds: 1, finalRounds: 3)
        #expect(digest.finish().bytes == expected)
    }

    @Test("each half of a digest tells parts apart, and the first alone is the half that is made in half the rounds")
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

    @Test("a part's position in its text does not change the digest")
    func position() {
        func key(_ text: [UInt8], _ range: Range<Int>) -> DedupeKey {
            var digest = KeyedDigest(.published)
            digest.add(1, text.span, range)
            return digest.finish()
        }
        let part: [UInt8] = Array("bucketName!".utf8)
        let alone = key(part, 0..<part.count)
        #expect(key([0xFF, 0xFF, 0xFF] + part, 3..<(3 + part.count)) == alone)
        #expect(key(part + [UInt8](repeating: 0xFF, count: 16), 0..<part.count) == alone)
    }

    @Test("secret, meaning, length, order and every byte change the digest")
    func differences() {
        func key(_ parts: [(UInt8, String)], _ secret: DedupeSecret = DedupeSecret(1, 2)) -> DedupeKey {
            var digest = KeyedDigest(secret)
            for (meaning, text) in parts { digest.add(meaning, text.utf8.span, 0..<text.utf8.count) }
            return digest.finish()
        }
        let keys = [
            key([(1, "ab"), (2, "c")]), key([(1, "ab"), (2, "c")], DedupeSecret(2, 1)),
            key([(1, "ab"), (2, "c")], DedupeSecret(1, 3)), key([(1, "a"), (2, "bc")]), key([(2, "ab"), (1, "c")]),
            key([(2, "c"), (1, "ab")]), key([(1, "ab"), (2, "c"), (3, "")]), key([(1, "ab"), (2, "c\0")]),
            key([(1, "abc")]), key([]), key([(1, "")]), key([(1, "ab"), (2, "d")]),
        ]
        #expect(Set(keys).count == keys.count)
    }

    @Test("a key prints as 32 hexadecimal digits with leading zeros")
    func description() {
        #expect(DedupeKey(first: 0x1F, second: 0).description == "000000000000001f0000000000000000")
        #expect(DedupeKey(first: .max, second: 1).description == "ffffffffffffffff0000000000000001")
    }

    @Test("random secrets differ")
    func random() {
        let secrets = Set((0..<100).map { _ in DedupeSecret.random() })
        #expect(secrets.count == 100)
        #expect(!secrets.contains(.published))
    }
}

/// SipHash with 128 bits of output as its authors define it, over bytes, one at a time: slow and plain.
enum SipReference {
    static func hash(
        _ key: [UInt8], _ message: [UInt8], closing: [UInt8]? = nil, rounds: Int, finalRounds: Int
    ) -> [UInt8] {
        let k0 = word(key, 0)
        let k1 = word(key, 8)
        var v: [UInt64] = [
            k0 ^ word(Array("uespemos".utf8), 0), k1 ^ word(Array("modnarod".utf8), 0),
            k0 ^ word(Array("arenegyl".utf8), 0), k1 ^ word(Array("setybdet".utf8), 0),
        ]
        v[1] ^= 0xEE
        var blocks = message
        if let closing {
            blocks += closing
        } else {
            while blocks.count % 8 != 7 { blocks.append(0) }
            blocks.append(UInt8(message.count % 256))
        }
        for offset in stride(from: 0, to: blocks.count, by: 8) {
            let block = word(blocks, offset)
            v[3] ^= block
            for _ in 0..<rounds { round(&v) }
            v[0] ^= block
        }
        v[2] ^= 0xEE
        for _ in 0..<finalRounds { round(&v) }
        let first = v[0] ^ v[1] ^ v[2] ^ v[3]
        v[1] ^= 0xDD
        for _ in 0..<finalRounds { round(&v) }
        return bytes(first) + bytes(v[0] ^ v[1] ^ v[2] ^ v[3])
    }

    private static func round(_ v: inout [UInt64]) {
        func half(_ a: Int, _ b: Int, _ c: Int, _ d: Int, _ s: UInt64, _ t: UInt64) {
            v[a] = v[a] &+ v[b]
            v[c] = v[c] &+ v[d]
            v[b] = rotate(v[b], s) ^ v[a]
            v[d] = rotate(v[d], t) ^ v[c]
            v[a] = rotate(v[a], 32)
        }
        half(0, 1, 2, 3, 13, 16)
        half(2, 1, 0, 3, 17, 21)
    }

    private static func rotate(_ word: UInt64, _ count: UInt64) -> UInt64 { word << count | word >> (64 - count) }

    private static func word(_ bytes: [UInt8], _ offset: Int) -> UInt64 {
        (0..<8).reduce(0) { $0 | UInt64(bytes[offset + $1]) << UInt64($1 * 8) }
    }

    static func bytes(_ word: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64($0 * 8)) } }
}

extension DedupeKey {
    fileprivate var bytes: [UInt8] { SipReference.bytes(first) + SipReference.bytes(second) }
}

extension DedupeSecret {
    fileprivate var bytes: [UInt8] { SipReference.bytes(first) + SipReference.bytes(second) }
}
