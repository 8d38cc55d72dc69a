import KiiPushTesting
import Testing

@testable import KiiPush

struct DigestTableTests {
    @Test(
        "it holds what a dictionary holds, also where many searches begin at one slot",
        arguments: 1...4 as ClosedRange<UInt64>)
    func likeDictionary(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (table, expected) = (DigestTable(), [DedupeKey: UInt32]())
        // Ends of the table, equal halves, and keys that differ only beyond what selects a slot.
        let halves: [UInt64] = [0, 1, 6, 7, 8, 15, 16, 1 << 32, .max, .max - 1]
        let keys = halves.flatMap { first in halves.map { DedupeKey(first: first, second: $0) } }
        for place in 0..<5000 as Range<UInt32> {
            let key = keys[Int.random(in: 0..<keys.count, using: &random)]
            let place = Bool.random(using: &random) ? place : nil
            table[key] = place
            expected[key] = place
            #expect(table[key] == place)
        }
        for key in keys { #expect(table[key] == expected[key]) }
    }
}
