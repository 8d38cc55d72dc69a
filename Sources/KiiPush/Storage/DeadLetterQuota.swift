/// The contents of a dead-letter store, and its bounds: a key may use only a share, which leaves capacity for others.
package struct DeadLetterQuota: Sendable {
    /// How a dead letter is stored.
    package enum Place: Sendable, Hashable {
        /// Under the number that was proposed.
        case new
        /// Merged into the dead letter of this number, whose payload it replaces with one so many bytes larger; nil if
        /// its own is not kept.
        case folded(into: UInt64, growth: Int?)
    }

    private struct Letter {
        var bytes: Int
        let keys: [DedupeKey]
    }

    /// How many dead letters a key has, and the bytes of their payloads.
    private struct Totals {
        var count = 0
        var bytes = 0

        mutating func add(_ count: Int, _ bytes: Int) {
            self.count += count
            self.bytes += bytes
        }
    }

    private let capacity: Int
    private let mostBytes: Int
    private var letters: [UInt64: Letter] = [:]
    private var keys: [DedupeKey: Totals] = [:]
    private var all = Totals()

    /// How many dead letters there are.
    package var count: Int { all.count }

    /// Whether it has no capacity for another dead letter, however small.
    package var isFull: Bool { all.count >= capacity || all.bytes >= mostBytes }

    /// The quota of an empty store.
    package init(capacity: Int, bytes: Int) {
        self.capacity = max(capacity, 0)
        mostBytes = bytes
    }

    /// Whether a dead letter has this number.
    package func contains(_ id: UInt64) -> Bool { letters[id] != nil }

    /// Reserves capacity for a dead letter under a new number, or finds the one that it is merged into.
    ///
    /// - Throws: ``DeadLettersFull`` if it exceeds a bound and shares no key with another one; nothing has changed.
    package mutating func take(_ letter: DeadLetter, as id: UInt64) throws(DeadLettersFull) -> Place {
        let size = letter.payload.size
        let hasNoRoom = all.count >= capacity || size > mostBytes - all.bytes
        if hasNoRoom || isBeyondShare(letter.keys, bytes: size, countsLetters: true) {
            for key in letter.keys where keys[key] != nil {
                let others = letters.filter { $0.value.keys.contains(key) }
                if let last = others.keys.max() { return fold(size, into: last) }
            }
        }
        if hasNoRoom { throw DeadLettersFull(count: all.count, bytes: all.bytes) }
        add(id, bytes: size, letter.keys)
        return .new
    }

    /// Whether a key that has dead letters already would have too many bytes, or too many dead letters if they count.
    private func isBeyondShare(_ all: [DedupeKey], bytes: Int, countsLetters: Bool) -> Bool {
        all.enumerated().contains { index, key in
            guard let used = keys[key] else { return false }
            let (mostLetters, most) = index == 0 ? (capacity / 10, mostBytes / 5) : (capacity / 2, mostBytes / 2)
            return used.bytes + bytes > most || countsLetters && used.count >= max(mostLetters, 1)
        }
    }

    private mutating func fold(_ size: Int, into id: UInt64) -> Place {
        guard let old = letters[id] else { return .folded(into: id, growth: nil) }
        let growth = size - old.bytes
        guard
            growth <= 0
                || growth <= mostBytes - all.bytes && !isBeyondShare(old.keys, bytes: growth, countsLetters: false)
        else { return .folded(into: id, growth: nil) }
        resize(id, by: growth)
        return .folded(into: id, growth: growth)
    }

    /// Records that a dead letter's payload has another size.
    package mutating func resize(_ id: UInt64, by bytes: Int) {
        guard let letter = letters[id] else { return }
        letters[id]?.bytes += bytes
        change(letter, count: 0, bytes: bytes)
    }

    /// Records a dead letter that exists, within the bounds or not.
    package mutating func add(_ id: UInt64, bytes: Int, _ keys: [DedupeKey]) {
        let letter = Letter(bytes: bytes, keys: keys)
        letters[id] = letter
        change(letter, count: 1, bytes: bytes)
    }

    /// Records that a dead letter was removed.
    package mutating func remove(_ id: UInt64) {
        guard let letter = letters.removeValue(forKey: id) else { return }
        change(letter, count: -1, bytes: -letter.bytes)
    }

    private mutating func change(_ letter: Letter, count: Int, bytes: Int) {
        all.add(count, bytes)
        for key in letter.keys {
            keys[key, default: Totals()].add(count, bytes)
            if keys[key]?.count == 0 { keys[key] = nil }
        }
    }
}
