import Testing

@testable import KiiPush

struct DigestIndexTests {
    /// Numbers that repeat from run to run (SplitMix64).
    private struct Source: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = state
            word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
            return word ^ word >> 31
        }
    }

    // Few first words, so that keys meet in a group and differ in their second word only; at last a single one, so that
    // more keys pass a group by than it counts.
    @Test(
        "after any run of insertions and removals each key has its number",
        arguments: [
            (1, 20_000, 0xFFFF_0000_FFF0_0000), (4, 20_000, 0xFFFF_0000_FFF0_00FF), (256, 20_000, .max), (1, 1200, 0),
        ] as [(Int, UInt32, UInt64)])
    func agreesWithDictionary(tables: Int, count: UInt32, mask: UInt64) {
        var source = Source(state: UInt64(tables))
        var slots = DigestIndex(tables: tables)
        var numbers: [DedupeKey: UInt32] = [:]
        var keys: [DedupeKey] = []
        for number in 0..<count {
            let key = DedupeKey(first: source.next() & mask, second: source.next())
            keys.append(key)
            numbers[key] = number
            slots.insert(key, number)
            if source.next() % 2 == 0, let old = keys.randomElement(using: &source), let number = numbers[old] {
                slots.remove(old, number)
                numbers[old] = nil
            }
        }
        for key in keys { #expect(slots.find(key) { keys[Int($0)] == key } == numbers[key]) }
        for (key, number) in numbers { slots.remove(key, number) }
        for key in keys { #expect(slots.find(key) { _ in true } == nil) }
    }

    @Test("a key that is not there is searched for once around, when each group was found full by some key")
    func onceAround() {
        // Keys of the first half of a table, and of the second; a table of six keys or more has two groups of seven.
        func key(_ half: UInt64, _ number: UInt32) -> DedupeKey {
            DedupeKey(first: half << 31 | UInt64(number), second: 0)
        }
        var slots = DigestIndex(tables: 1)
        for number in 0..<UInt32(8) { slots.insert(key(0, number), number) }
        for number in 0..<UInt32(6) { slots.remove(key(0, number), number) }
        for number in 8..<UInt32(15) { slots.insert(key(1, number), number) }
        #expect(slots.capacity == 14)
        for number in 6..<UInt32(15) {
            let half: UInt64 = number < 8 ? 0 : 1
            #expect(slots.find(key(half, number)) { $0 == number } == number)
        }
        for half in UInt64(0)...1 {
            #expect(slots.find(key(half, 99)) { _ in true } == nil)
            slots.remove(key(half, 99), 99)
        }
    }

    /// Lets keys come and go, as in a window: each makes the oldest stale.
    private func churn(_ count: UInt32, in slots: inout DigestIndex, keeping kept: UInt32, from first: UInt32 = 0) {
        var source = Source(state: 7)
        for step in 0..<count {
            let number = first &+ step
            slots.insert(DedupeKey(first: source.next(), second: 0), number) { number &- $0 > kept }
        }
    }

    @Test("stale numbers take no room for long, also where numbers begin again", arguments: [0, UInt32.max - 100_000])
    func staleNumbers(first: UInt32) {
        var slots = DigestIndex(tables: 1)
        churn(200_000, in: &slots, keeping: 1000, from: first)
        #expect(slots.capacity < 2600)
        // Fewer are kept from now on, and the table gets smaller.
        churn(5000, in: &slots, keeping: 10, from: first &+ 200_000)
        #expect(slots.capacity < 50)
    }

    @Test("a large table has at most five slots for three keys")
    func large() {
        var slots = DigestIndex(tables: 1)
        churn(30_000, in: &slots, keeping: 4000)
        #expect(slots.capacity < 6800)
    }

    @Test("keys that come and go one by one need no more room in the end", arguments: [1, 100])
    func comeAndGo(atOnce: Int) {
        var source = Source(state: 3)
        var slots = DigestIndex(tables: 1)
        var keys: [DedupeKey] = []
        for _ in 0..<100_000 / atOnce {
            keys = (0..<atOnce).map { _ in DedupeKey(first: source.next(), second: 0) }
            for key in keys { slots.insert(key, 1) }
            for key in keys { slots.remove(key, 1) }
        }
        #expect(slots.capacity <= atOnce * 5 / 2 + 7)
        for key in keys { #expect(slots.find(key) { _ in true } == nil) }
    }

    @Test("a key that has another number by now stays")
    func keepsOtherNumber() {
        var slots = DigestIndex(tables: 1)
        let key = DedupeKey(first: 0, second: 1)
        slots.insert(key, 7)
        slots.remove(key, 8)
        #expect(slots.find(key) { $0 == 7 } == 7)
    }

    @Test("the smallest and the largest number are kept", arguments: [0, UInt32.max])
    func keepsExtremes(number: UInt32) {
        var slots = DigestIndex(tables: 2)
        let key = DedupeKey(first: .max, second: .max)
        slots.insert(key, number)
        #expect(slots.find(key) { _ in true } == number)
    }
}
