/// The contents of a deduplication store: the messages in flight, and the handled ones that are still remembered.
///
/// A value without a clock of its own. A message is one entry, found by each of its keys, from its lease on: in flight
/// until the lease is committed, then remembered until the window forgets it by age or by count.
package struct SeenTable {
    private struct Entry {
        /// The number of its lease.
        let number: UInt64
        let keys: DedupeKeys
        let arrivedAt: MonotonicInstant
        /// When it was committed; nil while it is in flight.
        var endedAt: MonotonicInstant?
    }

    private let age: Int64
    private let weakAge: Int64
    private let limit: Int
    private var lastLease: UInt64
    private var entries: [Entry] = []
    /// The places in `entries` that are free again.
    private var free: [UInt32] = []
    /// The places in `entries` of each key's messages: nearly always one.
    private var places = DigestTable()
    private var strong = Remembered()
    private var weak = Remembered()

    /// Makes an empty table, whose first lease has the number after `lastLease`.
    package init(_ window: SeenWindow, lastLease: UInt64 = 0) {
        self.lastLease = lastLease
        age = window.age.inNanoseconds
        weakAge = window.weakAge.inNanoseconds
        limit = window.count
    }

    package var counts: SeenCounts {
        SeenCounts(
            inFlight: entries.count - free.count - strong.order.count - weak.order.count, strong: strong.counts,
            weak: weak.counts)
    }

    // MARK: In flight

    package mutating func begin(_ keys: DedupeKeys, _ now: MonotonicInstant) -> SeenState {
        forgetOld(keys.strength, now)
        if let state = state(of: keys, now) { return state }
        lastLease += 1
        add(keys, arrivedAt: now)
        return .fresh(SeenLease(number: lastLease, keys: keys, arrivedAt: now))
    }

    /// Whether a commit or a release of the lease would end it.
    package func canEnd(_ lease: SeenLease) -> Bool { inFlight(lease) != nil }

    package mutating func commit(_ lease: SeenLease, _ now: MonotonicInstant) {
        if let place = inFlight(lease) { end(place, now) }
    }

    package mutating func release(_ lease: SeenLease) {
        if let place = inFlight(lease) { remove(place) }
    }

    private func inFlight(_ lease: SeenLease) -> UInt32? {
        places.first(of: lease.keys.primary) { place in
            let entry = entries[Int(place)]
            return entry.number == lease.number && entry.endedAt == nil && entry.keys == lease.keys
        }
    }

    /// Adds a handled message that ended now and whose lease was elsewhere, such as one of an earlier process.
    ///
    /// Its arrival counts for weak keys only.
    package mutating func remember(_ keys: DedupeKeys, _ now: MonotonicInstant, arrivedAt arrival: MonotonicInstant) {
        lastLease += 1
        end(add(keys, arrivedAt: arrival), now)
    }

    // MARK: Looking up

    /// The state of a message that has these keys and arrived at `now`; nil if it is new.
    private func state(of keys: DedupeKeys, _ now: MonotonicInstant) -> SeenState? {
        var isInFlight = false
        func isDone(_ key: DedupeKey) -> Bool {
            let done = places.first(of: key) { place in
                let entry = entries[Int(place)]
                guard entry.keys.isSameMessage(as: keys), stillCounts(entry, now) else { return false }
                if entry.endedAt == nil { isInFlight = true }
                return entry.endedAt != nil
            }
            return done != nil
        }
        if isDone(keys.primary) { return .done }
        if let second = keys.secondary, isDone(second) { return .done }
        return isInFlight ? .inFlight : nil
    }

    /// Whether an entry still counts for a message that arrived at `now`; one in flight has no age.
    private func stillCounts(_ entry: Entry, _ now: MonotonicInstant) -> Bool {
        // A copy may be examined at any time after it has arrived: for weak keys only the arrivals count.
        if entry.keys.strength == .weak { return entry.arrivedAt.isWithin(nanoseconds: weakAge, of: now) }
        guard let end = entry.endedAt else { return true }
        // One that was handled long after `now` counts as forgotten: the clock must have been set back since, and may
        // reach that time again in years only. It is not removed: the caller may have waited that long.
        let isOfTimeToCome = now < end.advanced(byNanoseconds: -max(age, SeenWindow.leastLag))
        return now < end.advanced(byNanoseconds: age) && !isOfTimeToCome
    }

    // MARK: Entries

    @discardableResult
    private mutating func add(_ keys: DedupeKeys, arrivedAt arrival: MonotonicInstant) -> UInt32 {
        let entry = Entry(number: lastLease, keys: keys, arrivedAt: arrival)
        let place = free.popLast() ?? UInt32(entries.count)
        if place < entries.count { entries[Int(place)] = entry } else { entries.append(entry) }
        places.insert(keys.primary, place)
        if let second = keys.secondary, second != keys.primary { places.insert(second, place) }
        return place
    }

    private mutating func end(_ place: UInt32, _ now: MonotonicInstant) {
        let strength = entries[Int(place)].keys.strength
        forgetOld(strength, now)
        entries[Int(place)].endedAt = now
        guard let first = self[strength].add(place, limit: limit) else { return }
        if stillCounts(entries[Int(first)], now) { self[strength].evictedEarly += 1 }
        remove(first)
    }

    /// Forgets up to two expired messages: twice as many as can be added, so none stays for long.
    private mutating func forgetOld(_ strength: DedupeKeys.Strength, _ now: MonotonicInstant) {
        let age = strength == .weak ? max(age, weakAge) : age
        for _ in 0..<2 {
            // Not by the subscript, which would count a reference more.
            guard let first = strength == .strong ? strong.order.first : weak.order.first,
                let end = entries[Int(first)].endedAt, now >= end.advanced(byNanoseconds: age)
            else { return }
            _ = self[strength].order.popFirst()
            remove(first)
        }
    }

    private mutating func remove(_ place: UInt32) {
        let keys = entries[Int(place)].keys
        places.remove(keys.primary, place)
        if let second = keys.secondary { places.remove(second, place) }
        free.append(place)
    }

    private subscript(strength: DedupeKeys.Strength) -> Remembered {
        get { strength == .strong ? strong : weak }
        _modify { if strength == .strong { yield &strong } else { yield &weak } }
    }
}

/// The handled messages of one strength, in the order of their commits.
private struct Remembered {
    var order = ShortQueue<UInt32>()
    var evictedEarly = 0

    var counts: SeenCounts.Window { SeenCounts.Window(remembered: order.count, evictedEarly: evictedEarly) }

    /// Adds a message; returns the oldest one if there are too many now.
    mutating func add(_ place: UInt32, limit: Int) -> UInt32? {
        order.append(place)
        return order.count > limit ? order.popFirst() : nil
    }
}

extension MonotonicInstant {
    /// Whether two instants are less than this far apart, in either order.
    func isWithin(nanoseconds age: Int64, of other: MonotonicInstant) -> Bool {
        let difference = nanoseconds.since(other.nanoseconds)
        return difference < age && difference > -age
    }
}
