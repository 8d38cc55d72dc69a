import Testing

@testable import KiiPush

struct KeySlotsTests {
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

    @Test("after any run of insertions and removals each key has its number", arguments: [1, 4, 256])
    func agreesWithDictionary(tables: Int) {
        var source = Source(state: UInt64(tables))
        var slots = KeySlots(tables: tables)
        var numbers: [DedupeKey: UInt32] = [:]
        var keys: [DedupeKey] = []
        for number in 0..<UInt32(20_000) {
            // Few first words, so that keys meet in a slot and differ in their second word only.
            let key = DedupeKey(first: source.next() & 0xFFFF_0000_FFF0_0000, second: source.next())
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

    @Test("a key that has another number by now stays")
    func keepsOtherNumber() {
        var slots = KeySlots(tables: 1)
        let key = DedupeKey(first: 0, second: 1)
        slots.insert(key, 7)
        slots.remove(key, 8)
        #expect(slots.find(key) { $0 == 7 } == 7)
    }

    @Test("the smallest and the largest number are kept", arguments: [0, UInt32.max])
    func keepsExtremes(number: UInt32) {
        var slots = KeySlots(tables: 2)
        let key = DedupeKey(first: .max, second: .max)
        slots.insert(key, number)
        #expect(slots.find(key) { _ in true } == number)
    }
}
