/// Handled messages in the order in which they were handled, forgotten by age and by count.
///
/// A million messages take less than 40 MB: each key is stored once, in the queue, and found through an index of nine
/// bytes per slot, of which two in five are free. A forgotten entry leaves the queue only; its number in the index is
/// then stale.
struct KeyWindow {
    private struct Entry {
        let key: DedupeKey
        let time: MonotonicInstant
    }

    private let age: Int64
    /// How far apart messages with one key may have arrived to be the same; nil for strong keys.
    private let weakAge: Int64?
    /// How much earlier than its commit a message may be asked for; if it is earlier still, the clock was set back.
    private let lag: Int64
    private let limit: Int
    private var entries = ChunkedQueue<Entry>()
    /// The numbers of those entries that are the second key of the message before them.
    private var seconds = ChunkedQueue<UInt32>()
    /// When the message of each entry arrived; empty for strong keys.
    private var arrivals = ChunkedQueue<MonotonicInstant>()
    /// The number of the first entry; numbers increase by one and wrap after 2^32.
    private var firstNumber: UInt32
    private var slots: DigestIndex
    private(set) var evictedEarly = 0

    init(age: Duration, weakAge: Duration? = nil, count: Int, firstNumber: UInt32 = 0) {
        self.firstNumber = firstNumber
        self.age = age.inNanoseconds
        self.weakAge = weakAge?.inNanoseconds
        lag = max(self.age, SeenWindow.leastLag.inNanoseconds)
        // Two entries must never have the same number.
        limit = min(count, 1 << 30)
        slots = DigestIndex(tables: limit < 100_000 ? 128 : 256)
    }

    private var messages: Int { entries.count - seconds.count }

    var counts: SeenCounts.Window { SeenCounts.Window(remembered: messages, evictedEarly: evictedEarly) }

    /// Whether the message that has these keys, and arrived or was asked for at `now`, was handled within the window.
    func contains(_ keys: DedupeKeys, _ now: MonotonicInstant) -> Bool {
        // Expired entries may still be in the queue, because only a few are removed at a time. A key that was handled
        // again has two numbers, until the older one is stale.
        func find(_ key: DedupeKey) -> Bool {
            let number = slots.find(key) { number in
                let index = Int(number &- firstNumber)
                guard index < entries.count, entries[index].key == key else { return false }
                return isYoung(index, now) && isMeant(number, keys)
            }
            return number != nil
        }
        if find(keys.primary) { return true }
        if let second = keys.secondary { return find(second) }
        return false
    }

    /// Whether an entry still counts for a message that arrived or was asked for at `now`.
    @inline(__always)
    private func isYoung(_ index: Int, _ now: MonotonicInstant) -> Bool {
        // A copy may be examined at any time after it has arrived: for weak keys only the arrivals count.
        if let weakAge { return arrivals[index].isWithin(nanoseconds: weakAge, of: now) }
        let time = entries[index].time
        return !isOver(time, now) && !isOfTimeToCome(time, now)
    }

    /// Whether an entry that has one of a message's keys belongs to the same message, as ``DedupeKeys`` defines it.
    @inline(never)
    private func isMeant(_ number: UInt32, _ keys: DedupeKeys) -> Bool {
        // If both sides have two keys, the second one decides.
        guard let second = keys.secondary, let own = secondKey(of: number) else { return true }
        return own == second
    }

    /// The second key of the message that an entry belongs to.
    private func secondKey(of number: UInt32) -> DedupeKey? {
        let second = isSecond(number) ? number : number &+ 1
        return second == number || isSecond(second) ? entries[Int(second &- firstNumber)].key : nil
    }

    private func isSecond(_ number: UInt32) -> Bool {
        var (low, high) = (0, seconds.count)
        while low < high {
            let middle = (low + high) / 2
            if seconds[middle] &- firstNumber < number &- firstNumber { low = middle + 1 } else { high = middle }
        }
        return low < seconds.count && seconds[low] == number
    }

    /// Remembers a message that ended at `now`.
    mutating func insert(_ keys: DedupeKeys, _ now: MonotonicInstant, arrivedAt arrival: MonotonicInstant? = nil) {
        forgetOld(now)
        append(keys.primary, now, arrival)
        if let second = keys.secondary { seconds.append(append(second, now, arrival)) }
        if messages > limit {
            if entries.count > 0, isYoung(0, now) { evictedEarly += 1 }
            forgetFirst()
        }
    }

    private func isOver(_ time: MonotonicInstant, _ now: MonotonicInstant) -> Bool {
        now >= time.advanced(byNanoseconds: age)
    }

    /// Whether a message was handled so long after `now` that the clock must have been set back since.
    ///
    /// Such a message counts as forgotten, or it would be a duplicate until the clock reaches that time again, perhaps
    /// for years. But it is not removed: the caller may have waited that long, and for others the message is still
    /// recent.
    private func isOfTimeToCome(_ time: MonotonicInstant, _ now: MonotonicInstant) -> Bool {
        now < time.advanced(byNanoseconds: -lag)
    }

    /// Forgets up to two expired messages: twice as many as can be added, so none stays for long.
    mutating func forgetOld(_ now: MonotonicInstant) {
        for _ in 0..<2 {
            guard let first = entries.first, isOver(first.time, now) else { return }
            forgetFirst()
        }
    }

    private mutating func forgetFirst() {
        removeFirst()
        if seconds.first == firstNumber, seconds.popFirst() != nil { removeFirst() }
    }

    // MARK: Entries and where they are found

    @discardableResult
    private mutating func append(_ key: DedupeKey, _ now: MonotonicInstant, _ arrival: MonotonicInstant?) -> UInt32 {
        let (first, count) = (firstNumber, UInt32(truncatingIfNeeded: entries.count))
        entries.append(Entry(key: key, time: now))
        if weakAge != nil { arrivals.append(arrival ?? now) }
        slots.insert(key, first &+ count) { $0 &- first >= count }
        return first &+ count
    }

    /// Forgets an entry, whose number is then stale.
    private mutating func removeFirst() {
        guard entries.popFirst() != nil else { return }
        if weakAge != nil { _ = arrivals.popFirst() }
        firstNumber &+= 1
    }
}
