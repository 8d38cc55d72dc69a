/// The breakers of all recent keys, found in constant time and forgotten a few at a time.
struct BreakerTable {
    private let capacity: Int
    private var breakers: [Breaker] = []
    /// The indices in `breakers` that are free again.
    private var free: [UInt32] = []
    private var slots = DigestIndex(tables: 16)
    /// The index of each breaker once, so that each is checked in turn and forgotten if it is idle.
    private var round = ChunkedQueue<UInt32>()
    /// Where keys were found last; for a route and the device, which each message looks up.
    private var hints = InlineArray<4, UInt32>(repeating: .max)
    /// The indices of the breakers that are not closed.
    private var tripped: Set<UInt32> = []
    /// How many keys were forgotten while they still counted, because the capacity was used up.
    private(set) var forgottenEarly = 0

    init(capacity: Int) { self.capacity = capacity }

    /// The number of breakers.
    var count: Int { round.count }

    /// The index of a key's breaker, made if it is new; nil if the capacity is used up by open breakers.
    @inline(__always)
    mutating func place(of key: ResourceKey, _ limit: RateLimit, _ now: Int64) -> UInt32? {
        let hint = Int(truncatingIfNeeded: key.digest.first) & 3
        let last = hints[hint]
        if last != .max, breakers[Int(last)].key == key { return last }
        guard let place = find(key) ?? make(key, limit, now) else { return nil }
        hints[hint] = place
        return place
    }

    @inline(never)
    private mutating func make(_ key: ResourceKey, _ limit: RateLimit, _ now: Int64) -> UInt32? {
        forgetIdle(now)
        guard round.count < capacity || makeRoom() else { return nil }
        return insert(Breaker(key, limit))
    }

    private mutating func insert(_ breaker: Breaker) -> UInt32 {
        let place: UInt32
        if let unused = free.popLast() {
            place = unused
            breakers[Int(place)] = breaker
        } else {
            place = UInt32(breakers.count)
            breakers.append(breaker)
        }
        slots.insert(breaker.key.digest, place)
        round.append(place)
        return place
    }

    /// The breaker at an index.
    subscript(place: UInt32) -> Breaker { breakers[Int(place)] }

    /// The index of a key's breaker, if there is one.
    func find(_ key: ResourceKey) -> UInt32? {
        slots.find(key.digest) { breakers[Int($0)].key == key }
    }

    /// The breakers that are not closed, in an order that is the same in every process, unlike a set's.
    var trippedBreakers: [Breaker] { tripped.sorted().map { breakers[Int($0)] } }

    /// Counts a message that passes a breaker that never opened; else does nothing and returns false.
    // Each access checks whether the array is shared: one access per breaker instead of two.
    @inline(__always)
    mutating func pass(_ place: UInt32, _ limit: RateLimit, _ now: Int64) -> Bool {
        breakers[Int(place)].pass(now, limit)
    }

    /// Records the arrival of a message of a key that a narrower breaker has judged.
    mutating func note(_ key: ResourceKey, _ arrival: Arrival) {
        if let place = find(key) { breakers[Int(place)].note(arrival) }
    }

    /// Lets `body` use a breaker in place, and records whether it is tripped.
    @inline(__always)
    mutating func use<Result>(_ place: UInt32, _ body: (inout Breaker) -> Result) -> Result {
        let before = breakers[Int(place)].phase
        let result = body(&breakers[Int(place)])
        if before != .closed || breakers[Int(place)].phase != .closed { noteStep(of: place, from: before) }
        return result
    }

    /// Records the step of a breaker that was tripped before it or is tripped after it.
    @inline(never)
    private mutating func noteStep(of place: UInt32, from before: Breaker.Phase) {
        let phase = breakers[Int(place)].phase
        if before == .closed { tripped.insert(place) }
        if phase == .closed { tripped.remove(place) }
    }

    // MARK: Forgetting

    /// Forgets up to two idle breakers for each new one, so that those of old keys disappear over time.
    private mutating func forgetIdle(_ now: Int64) {
        for _ in 0..<2 {
            guard let place = round.popFirst() else { return }
            if breakers[Int(place)].isIdle(now) { forget(place) } else { round.append(place) }
        }
    }

    /// Forgets a closed breaker that still counts; checks eight, and gives up if all of them are open.
    private mutating func makeRoom() -> Bool {
        for _ in 0..<8 {
            guard let place = round.popFirst() else { return true }
            if breakers[Int(place)].isExpendable {
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
        slots.remove(breakers[Int(place)].key.digest, place)
        tripped.remove(place)
        free.append(place)
    }
}
