/// What a dead-letter store has, and the bounds that it must keep to.
///
/// A key gets a share of the room at most, so that the letters of one leave room for those of another. What is no push
/// message gets half of the room at most: garbage, of which there can be any amount, must leave room for the messages that
/// failed.
package struct DeadLetterQuota: Sendable {
    /// What becomes of a letter.
    package enum Place: Sendable, Hashable {
        /// It gets the number that it should have.
        case new
        /// The letter of this number stands for it, with its payload or without.
        case folded(into: UInt64, replacesPayload: Bool)
    }

    private struct Letter {
        let reason: DeadLetter.Reason
        var bytes: Int
        let keys: [DeadLetter.Key]
    }

    /// How many letters there are of a key, the bytes of their payloads, and the number of the last one.
    fileprivate struct Totals {
        var count = 0
        var bytes = 0
        var last: UInt64 = 0
    }

    private let capacity: Int
    private let mostBytes: Int
    private var letters: [UInt64: Letter] = [:]
    private var keys: [DeadLetter.Key: Totals] = [:]
    private var all = Totals()
    private var undecodable = Totals()

    /// How many letters there are.
    package var count: Int { all.count }

    /// Whether it has no room for one more letter, however small.
    package var isFull: Bool { all.count >= capacity || all.bytes >= mostBytes }

    /// An empty store's room.
    package init(capacity: Int, bytes: Int) {
        self.capacity = max(capacity, 0)
        mostBytes = bytes
    }

    /// Whether there is a letter of a number.
    package func contains(_ id: UInt64) -> Bool { letters[id] != nil }

    /// Makes room for a letter, or finds the one that is to stand for it.
    ///
    /// - Parameters:
    ///   - letter: the letter.
    ///   - id: the number that it should have, greater than that of any other.
    /// - Returns: which of both.
    /// - Throws: ``DeadLettersFull`` when it is beyond a bound and shares no key with another; nothing has changed then.
    package mutating func take(_ letter: DeadLetter, as id: UInt64) throws(DeadLettersFull) -> Place {
        let size = letter.payload.bytes.count
        let refusal = refusal(letter.reason, size)
        if refusal != nil || isBeyondShare(letter.keys, size) {
            for key in letter.keys {
                if let last = keys[key]?.last { return fold(size, into: last) }
            }
        }
        if let refusal { throw refusal }
        add(id, letter.reason, bytes: size, letter.keys)
        return .new
    }

    private func refusal(_ reason: DeadLetter.Reason, _ size: Int) -> DeadLettersFull? {
        guard all.count < capacity, size <= mostBytes - all.bytes else {
            return DeadLettersFull(count: all.count, bytes: all.bytes)
        }
        // The odd one is theirs, so that a store for one letter takes any.
        guard reason == .undecodable,
            undecodable.count >= capacity - capacity / 2 || size > mostBytes / 2 - undecodable.bytes
        else { return nil }
        return DeadLettersFull(count: undecodable.count, bytes: undecodable.bytes, reason: reason)
    }

    private func isBeyondShare(_ all: [DeadLetter.Key], _ size: Int) -> Bool {
        for (index, key) in all.enumerated() {
            guard let totals = keys[key] else { continue }
            let (letters, bytes) = index == 0 ? (capacity / 10, mostBytes / 5) : (capacity / 2, mostBytes / 2)
            if totals.count >= max(letters, 1) || totals.bytes + size > bytes { return true }
        }
        return false
    }

    private mutating func fold(_ size: Int, into id: UInt64) -> Place {
        let old = letters[id]?.bytes ?? 0
        let replaces = size - old <= mostBytes - all.bytes
        if replaces { resize(id, by: size - old) }
        return .folded(into: id, replacesPayload: replaces)
    }

    /// Takes down that a letter's payload has another size.
    package mutating func resize(_ id: UInt64, by bytes: Int) {
        guard let letter = letters[id] else { return }
        letters[id]?.bytes += bytes
        change(letter, count: 0, bytes: bytes)
    }

    /// Takes down a letter that is there, within the bounds or not.
    package mutating func add(_ id: UInt64, _ reason: DeadLetter.Reason, bytes: Int, _ keys: [DeadLetter.Key]) {
        let letter = Letter(reason: reason, bytes: bytes, keys: keys)
        letters[id] = letter
        change(letter, count: 1, bytes: bytes)
        for key in keys {
            let last = self.keys[key]?.last ?? 0
            self.keys[key]?.last = max(last, id)
        }
    }

    /// Takes down that a letter has gone.
    package mutating func remove(_ id: UInt64) {
        guard let letter = letters.removeValue(forKey: id) else { return }
        change(letter, count: -1, bytes: -letter.bytes)
        for key in letter.keys where keys[key]?.last == id {
            let last = letters.filter { $0.value.keys.contains(key) }.keys.max()
            keys[key]?.last = last ?? 0
        }
    }

    private mutating func change(_ letter: Letter, count: Int, bytes: Int) {
        all.add(count, bytes)
        if letter.reason == .undecodable { undecodable.add(count, bytes) }
        for key in letter.keys {
            keys[key, default: Totals()].add(count, bytes)
            if keys[key]?.count == 0 { keys[key] = nil }
        }
    }
}

extension DeadLetterQuota.Totals {
    fileprivate mutating func add(_ count: Int, _ bytes: Int) {
        self.count += count
        self.bytes += bytes
    }
}
