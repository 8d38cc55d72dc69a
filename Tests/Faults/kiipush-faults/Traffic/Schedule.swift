/// What is to be done at which time, in seconds.
struct Schedule {
    private struct Entry {
        let time: Double
        let number: Int
        let action: () -> Void

        func isBefore(_ other: Entry) -> Bool { (time, number) < (other.time, other.number) }
    }

    /// A binary heap with the next entry at the front.
    private var entries: [Entry] = []
    private var count = 0

    /// When there is something to do next.
    var next: Double? { entries.first?.time }

    mutating func add(_ time: Double, _ action: @escaping () -> Void) {
        count += 1
        entries.append(Entry(time: time, number: count, action: action))
        var index = entries.count - 1
        while index > 0, entries[index].isBefore(entries[(index - 1) / 2]) {
            entries.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    /// Removes the next action if its time has come.
    mutating func pop(at now: Double) -> (() -> Void)? {
        guard let first = entries.first, first.time <= now else { return nil }
        let last = entries.removeLast()
        guard !entries.isEmpty else { return first.action }
        entries[0] = last
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < entries.count {
                if entries[child].isBefore(entries[least]) { least = child }
            }
            if least == index { return first.action }
            entries.swapAt(index, least)
            index = least
        }
    }

    mutating func removeAll() { entries = [] }
}

/// Random numbers that are the same in each run with the same seed (SplitMix64).
struct Chance: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64, _ name: String) {
        state = name.utf8.reduce(seed &+ 0x9E37_79B9_7F4A_7C15) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
