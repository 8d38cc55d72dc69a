/// Handled messages in the order in which they were handled, forgotten by age and by count.
///
/// A million messages take less than 40 MB: each key lies once, in the queue, and is found through nine bytes that
/// tell where, of which two in five are free. What is forgotten leaves the queue only: its number is stale then.
struct KeyWindow {
    private struct Entry {
        let key: DedupeKey
        let time: MonotonicInstant
    }

    private let age: Int64
    /// How much earlier than its commit a message may be asked for; earlier still, the clock was set back.
    private let lag: Int64
    private let limit: Int
    private var entries = ChunkedQueue<Entry>()
    /// The numbers of those entries that are the second key of the message before them.
    private var seconds = ChunkedQueue<UInt32>()
    /// The number of the first entry; numbers go up by one and begin again after 2^32.
    private var firstNumber: UInt32
    private var slots: KeySlots
    private(set) var evictedEarly = 0

    init(age: Duration, count: Int, firstNumber: UInt32 = 0) {
        self.firstNumber = firstNumber
        self.age = age.inNanoseconds
        lag = max(self.age, SeenWindow.leastLag.inNanoseconds)
        // Numbers must not meet while both are in use.
        limit = min(count, 1 << 30)
        slots = KeySlots(tables: limit < 100_000 ? 16 : 256)
    }

    private var messages: Int { entries.count - seconds.count }

    var counts: SeenCounts.Window { SeenCounts.Window(remembered: messages, evictedEarly: evictedEarly) }

    /// Whether a message with this key was handled within the window.
    func contains(_ key: DedupeKey, _ now: MonotonicInstant) -> Bool {
        // What is too old may still lie in the queue, since only a few are taken out at a time. A key that was handled
        // again has two numbers, until the older one is stale.
        let number = slots.find(key) { number in
            let index = Int(number &- firstNumber)
            guard index < entries.count else { return false }
            let entry = entries[index]
            return entry.key == key && !isOver(entry.time, now) && !isOfTimeToCome(entry.time, now)
        }
        return number != nil
    }

    mutating func insert(_ keys: DedupeKeys, _ now: MonotonicInstant) {
        forgetOld(now)
        append(keys.primary, now)
        if let second = keys.secondary { seconds.append(append(second, now)) }
        if messages > limit {
            if let time = entries.first?.time, !isOver(time, now), !isOfTimeToCome(time, now) { evictedEarly += 1 }
            forgetFirst()
        }
    }

    private func isOver(_ time: MonotonicInstant, _ now: MonotonicInstant) -> Bool {
        now >= time.advanced(byNanoseconds: age)
    }

    /// Whether a message was handled so long after `now` that the clock must have been set back since.
    ///
    /// Such a message counts as forgotten, or it would be a duplicate until the clock is there again, for years. But it
    /// is not taken out: the call may have waited that long, and for others the message is still young.
    private func isOfTimeToCome(_ time: MonotonicInstant, _ now: MonotonicInstant) -> Bool {
        now < time.advanced(byNanoseconds: -lag)
    }

    /// Forgets up to two messages that are too old: twice as many as can come in, so none stays for long.
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
    private mutating func append(_ key: DedupeKey, _ now: MonotonicInstant) -> UInt32 {
        let (first, count) = (firstNumber, UInt32(truncatingIfNeeded: entries.count))
        entries.append(Entry(key: key, time: now))
        slots.insert(key, first &+ count) { $0 &- first >= count }
        return first &+ count
    }

    /// Forgets an entry; its number is stale from now on.
    private mutating func removeFirst() {
        guard entries.popFirst() != nil else { return }
        firstNumber &+= 1
    }
}
