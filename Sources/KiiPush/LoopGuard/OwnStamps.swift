/// The last stamps that a guard made, each with the stamp that the object had before.
///
/// The chain of predecessors tells which stamp an object had when a message was sent, although it has been stamped
/// again since: messages that wait for a handler were not caused by its writes in the meantime.
struct OwnStamps {
    /// The stamp of an object.
    enum Content {
        /// None, or a stale one.
        case nothing
        /// One that this guard made, by its number.
        case own(UInt64)
        /// One that another device made.
        case other(Lineage)
    }

    struct Entry {
        let number: UInt64
        let stamp: Lineage
        let madeAt: MonotonicInstant
        let before: Content
    }

    private let limit: Int
    /// A ring buffer, indexed by the number modulo the limit.
    private var entries: [Entry] = []
    /// The last number of each stamp; two without a time may be equal.
    private var numbers: [Lineage: UInt64] = [:]
    private var count: UInt64 = 0

    init(limit: Int) { self.limit = limit }

    /// Adds a stamp, replacing the oldest one; returns its number.
    mutating func add(_ stamp: Lineage, madeAt: MonotonicInstant, before: Content) -> UInt64 {
        let entry = Entry(number: count, stamp: stamp, madeAt: madeAt, before: before)
        if entries.count < limit {
            entries.append(entry)
        } else {
            let place = Int(count % UInt64(limit))
            let oldest = entries[place]
            if numbers[oldest.stamp] == oldest.number { numbers[oldest.stamp] = nil }
            entries[place] = entry
        }
        numbers[stamp] = count
        count += 1
        return entry.number
    }

    /// The number of a stamp; nil if this guard did not make it, or has forgotten it.
    func number(of stamp: Lineage) -> UInt64? { numbers[stamp] }

    /// The stamp with a number; nil if it is forgotten.
    subscript(number: UInt64) -> Entry? {
        let place = Int(number % UInt64(limit))
        guard place < entries.count, entries[place].number == number else { return nil }
        return entries[place]
    }
}
