/// The paces of all recent keys, found in constant time and forgotten a few at a time.
struct PaceTable {
    private let capacity: Int
    private var entries: [(key: ResourceKey, pace: Pace, limits: Pace.Limits)] = []
    /// The indices in `entries` that are free again.
    private var free: [UInt32] = []
    private var places: [ResourceKey: UInt32] = [:]
    /// The index of each entry once, so that each is checked in turn and forgotten if it is idle.
    private var round = ShortQueue<UInt32>()
    /// Where keys were found last; for a route and the device, which each message looks up.
    private var hints = InlineArray<4, UInt32>(repeating: .max)
    /// How many keys were forgotten while they still counted, because the capacity was used up.
    private(set) var forgottenEarly = 0

    init(capacity: Int) { self.capacity = capacity }

    /// The index of a key's pace, made if it is new; nil if the capacity is used up by keys that are paced.
    mutating func place(of key: ResourceKey, _ limits: Pace.Limits, _ now: Double) -> UInt32? {
        let hint = Int(truncatingIfNeeded: key.digest.first) & 3
        let last = hints[hint]
        if last != .max, entries[Int(last)].key == key { return last }
        guard let place = find(key) ?? make(key, limits, now) else { return nil }
        hints[hint] = place
        return place
    }

    private mutating func make(_ key: ResourceKey, _ limits: Pace.Limits, _ now: Double) -> UInt32? {
        forgetIdle(now)
        guard round.count < capacity || makeRoom() else { return nil }
        let entry = (key, Pace(limits, now: now), limits)
        let place: UInt32
        if let unused = free.popLast() {
            place = unused
            entries[Int(place)] = entry
        } else {
            place = UInt32(entries.count)
            entries.append(entry)
        }
        places[key] = place
        round.append(place)
        return place
    }

    /// The index of a key's pace, if there is one.
    func find(_ key: ResourceKey) -> UInt32? { places[key] }

    /// The pace at an index.
    subscript(place: UInt32) -> Pace {
        get { entries[Int(place)].pace }
        _modify { yield &entries[Int(place)].pace }
    }

    /// Whether the pace at an index makes messages wait now.
    func isLimiting(_ place: UInt32, _ now: Double) -> Bool {
        let (_, pace, limits) = entries[Int(place)]
        return pace.isLimiting(now, limits)
    }

    // MARK: Forgetting

    /// Forgets up to two idle keys for each new one, so that old keys disappear over time.
    private mutating func forgetIdle(_ now: Double) {
        for _ in 0..<2 {
            guard let place = round.popFirst() else { return }
            let isIdle = entries[Int(place)].pace.isIdle(now, entries[Int(place)].limits)
            if isIdle { forget(place) } else { round.append(place) }
        }
    }

    /// Forgets a key that still counts; checks eight, and gives up if all of them are paced.
    private mutating func makeRoom() -> Bool {
        for _ in 0..<8 {
            guard let place = round.popFirst() else { return true }
            if entries[Int(place)].pace.isPlain {
                forget(place)
                forgottenEarly += 1
                return true
            }
            round.append(place)
        }
        return false
    }

    private mutating func forget(_ place: UInt32) {
        hints = InlineArray(repeating: .max)
        places[entries[Int(place)].key] = nil
        free.append(place)
    }
}
