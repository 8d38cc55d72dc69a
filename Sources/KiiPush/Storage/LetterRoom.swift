/// What a dead-letter store has, and the bounds that it must keep to.
///
/// What is no push message gets half of the room at most: garbage, of which there can be any amount, must leave room for
/// the messages that failed.
package struct LetterRoom: Sendable {
    /// How many letters there are, and the bytes of their payloads.
    private struct Totals {
        var count = 0
        var bytes = 0
    }

    private let capacity: Int
    private let mostBytes: Int
    private var all = Totals()
    private var undecodable = Totals()

    /// How many letters there are.
    package var count: Int { all.count }

    /// An empty store's room.
    package init(capacity: Int, bytes: Int) {
        self.capacity = max(capacity, 0)
        mostBytes = bytes
    }

    /// Makes room for a letter.
    ///
    /// - Throws: ``DeadLettersFull`` when it is beyond a bound; nothing has changed then.
    package mutating func take(_ reason: DeadLetter.Reason, bytes size: Int) throws(DeadLettersFull) {
        guard all.count < capacity, size <= mostBytes - all.bytes else {
            throw DeadLettersFull(count: all.count, bytes: all.bytes)
        }
        if reason == .undecodable {
            // The odd one is theirs, so that a store for one letter takes any.
            guard undecodable.count < capacity - capacity / 2, size <= mostBytes / 2 - undecodable.bytes else {
                throw DeadLettersFull(count: undecodable.count, bytes: undecodable.bytes, reason: reason)
            }
        }
        add(reason, count: 1, bytes: size)
    }

    /// Takes down letters that are there, within the bounds or not; fewer than none when they have gone.
    package mutating func add(_ reason: DeadLetter.Reason, count: Int, bytes: Int) {
        all.count += count
        all.bytes += bytes
        guard reason == .undecodable else { return }
        undecodable.count += count
        undecodable.bytes += bytes
    }
}
