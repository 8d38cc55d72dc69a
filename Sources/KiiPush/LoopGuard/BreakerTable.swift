/// The breakers of all keys that have been seen lately, found in constant time and forgotten a few at a time.
struct BreakerTable {
    private let capacity: Int
    private var breakers: [Breaker] = []
    /// The places in `breakers` that are free again.
    private var free: [UInt32] = []
    private var slots = DigestIndex(tables: 16)
    /// Each breaker's place once, so that every one is looked at in its turn and forgotten when it is idle.
    private var round = ChunkedQueue<UInt32>()
    /// Where keys were found last; for a route and the device, which each message asks for.
    private var hints = InlineArray<4, UInt32>(repeating: .max)
    /// The places of those that are not closed.
    private var tripped: Set<UInt32> = []
    /// How many keys were forgotten while they still counted, for want of room.
    private(set) var forgottenEarly = 0
    /// What a store of breakers is to be told.
    var changes: BreakerChanges

    init(capacity: Int, isWide: Bool = false) {
        self.capacity = capacity
        changes = BreakerChanges(isWide: isWide)
    }

    /// How many keys are known.
    var count: Int { round.count }

    /// The place of a key's breaker, made when it is new; nil when there is no room, since all that are known are open.
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

    /// Goes on with the breakers that a store has; it is to forget those whose time is long over, or that find no room.
    mutating func restore(_ stored: [Breaker], _ now: Int64) {
        changes.begin(stored: stored.map(\.key))
        for var breaker in stored where find(breaker.key) == nil {
            if round.count < capacity, !breaker.isIdle(now) {
                tripped.insert(insert(breaker))
            } else {
                changes.closed(breaker.key)
            }
        }
    }

    /// The breaker at a place.
    subscript(place: UInt32) -> Breaker { breakers[Int(place)] }

    /// The place of a key's breaker, if it is known.
    func find(_ key: ResourceKey) -> UInt32? {
        slots.find(key.digest) { breakers[Int($0)].key == key }
    }

    /// The breakers that are not closed, each time in the same order: a set has another one in each process.
    var trippedBreakers: [Breaker] { tripped.sorted().map { breakers[Int($0)] } }

    /// Counts a message that passes a breaker that never opened; else does nothing, and it is to be judged.
    // Each use checks that nobody shares the breakers: a message that passes takes one for each of its two, not two.
    @inline(__always)
    mutating func pass(_ place: UInt32, _ limit: RateLimit, _ now: Int64) -> Bool {
        breakers[Int(place)].pass(now, limit)
    }

    /// Takes down that a message of a key came which a narrower breaker has judged.
    mutating func note(_ key: ResourceKey, _ arrival: Arrival) {
        if let place = find(key) { breakers[Int(place)].note(arrival) }
    }

    /// Lets `body` use a breaker where it lies, and keeps book of whether it is tripped.
    @inline(__always)
    mutating func use<Result>(_ place: UInt32, _ body: (inout Breaker) -> Result) -> Result {
        let before = breakers[Int(place)].phase
        let result = body(&breakers[Int(place)])
        if before != .closed || breakers[Int(place)].phase != .closed { noteStep(of: place, from: before) }
        return result
    }

    /// Keeps book of a breaker that was tripped before a step or is so after it.
    @inline(never)
    private mutating func noteStep(of place: UInt32, from before: Breaker.Phase) {
        let phase = breakers[Int(place)].phase
        guard before != phase else { return }
        if before == .closed { tripped.insert(place) }
        switch phase {
        case .closed:
            tripped.remove(place)
            changes.closed(breakers[Int(place)].key)
        // One that listens is remembered too, or a loop that ends the process would be handled anew each time.
        case .waiting(let end), .listening(let end):
            changes.opened(breakers[Int(place)].key, until: end, coolDown: breakers[Int(place)].backoff)
        case .trying, .watching, .releasing: break
        }
    }

    // MARK: Forgetting

    /// Forgets up to two idle ones for each new one, so that those of keys that are seen no more go by and by.
    private mutating func forgetIdle(_ now: Int64) {
        for _ in 0..<2 {
            guard let place = round.popFirst() else { return }
            if breakers[Int(place)].isIdle(now) { forget(place) } else { round.append(place) }
        }
    }

    /// Forgets one that is closed, though it still counts; looks at eight, and gives up when all of them are open.
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
        if tripped.remove(place) != nil { changes.closed(breakers[Int(place)].key) }
        free.append(place)
    }
}
