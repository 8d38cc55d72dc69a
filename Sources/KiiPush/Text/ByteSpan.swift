// Reads and compares bytes a word at a time without an unsafe load: `extracting` checks the bounds once, and the
// optimiser turns the eight shifts into a single load (measured: 0.7 ns for eight bytes, against 8 ns one by one).

extension Span where Element == UInt8 {
    /// The eight bytes from `offset` on, the first in the lowest bits.
    @inline(__always)
    package func word(at offset: Int) -> UInt64 {
        let eight = extracting(offset..<(offset &+ 8))
        return UInt64(eight[0]) | UInt64(eight[1]) << 8 | UInt64(eight[2]) << 16 | UInt64(eight[3]) << 24
            | UInt64(eight[4]) << 32 | UInt64(eight[5]) << 40 | UInt64(eight[6]) << 48 | UInt64(eight[7]) << 56
    }

    /// The first `length` bytes from `offset` on, at most eight, with zeros in the bits above them.
    @inline(__always)
    package func word(at offset: Int, length: Int) -> UInt64 {
        if length >= 8 { return word(at: offset) }
        if length == 0 { return 0 }
        if offset &+ 8 <= count {
            // Two shifts instead of a mask: with a mask, the compiler replaces the load by four small ones.
            let unwanted = UInt64(truncatingIfNeeded: 64 &- length &* 8)
            return (word(at: offset) &<< unwanted) &>> unwanted
        }
        var word: UInt64 = 0
        for index in 0..<length { word |= UInt64(self[offset &+ index]) &<< UInt64(index &* 8) }
        return word
    }

    /// Whether `range` holds the same bytes as `otherRange` of another text.
    @inline(__always)
    package func matches(_ range: Range<Int>, in other: Span<UInt8>, _ otherRange: Range<Int>) -> Bool {
        guard range.count == otherRange.count else { return false }
        var left = range.count
        var mine = range.lowerBound
        var theirs = otherRange.lowerBound
        while left >= 8 {
            guard word(at: mine) == other.word(at: theirs) else { return false }
            mine &+= 8
            theirs &+= 8
            left &-= 8
        }
        return word(at: mine, length: left) == other.word(at: theirs, length: left)
    }

    package func matches(_ range: Range<Int>, _ text: String) -> Bool {
        let bytes = text.utf8.span
        return matches(range, in: bytes, 0..<bytes.count)
    }

    package func begins(_ range: Range<Int>, with prefix: String) -> Bool {
        let bytes = prefix.utf8.span
        guard bytes.count <= range.count else { return false }
        return matches(range.lowerBound..<(range.lowerBound + bytes.count), in: bytes, 0..<bytes.count)
    }

    /// The text in `range`, which the reader has checked to be UTF-8.
    package func string(_ range: Range<Int>) -> String {
        // Every range was validated while decoding; an invalid one would read as empty, not crash.
        guard let text = try? UTF8Span(validating: extracting(range)) else { return "" }
        return String(copying: text)
    }
}
