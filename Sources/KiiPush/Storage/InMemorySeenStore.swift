import Synchronization

/// A deduplication store in memory, which lasts as long as the process.
///
/// Every call takes constant time: it forgets a few expired messages along the way. Memory follows use: nothing is
/// reserved for a window that is not full. A million remembered messages take less than 40 MB.
public final class InMemorySeenStore: SeenStore {
    let state: Mutex<SeenTable>

    /// Makes an empty store.
    public init(window: SeenWindow = .standard) { state = Mutex(SeenTable(window)) }

    /// Asks for a message and reserves it if it is new.
    public func begin(_ keys: DedupeKeys, now: MonotonicInstant) -> SeenState {
        state.withLock { $0.begin(keys, now) }
    }

    /// Remembers a message as handled.
    public func commit(_ lease: SeenLease, now: MonotonicInstant) { state.withLock { $0.commit(lease, now) } }

    /// Forgets a reservation.
    public func release(_ lease: SeenLease) { state.withLock { $0.release(lease) } }

    /// Whether a lease has neither been confirmed nor undone.
    public func isInFlight(_ lease: SeenLease) -> Bool { state.withLock { $0.isInFlight(lease) } }

    /// What the store holds now; never nil.
    public var counts: SeenCounts? { state.withLock { $0.counts } }
}

/// The contents of a deduplication store: a state machine without a clock of its own.
package struct SeenTable {
    private var inFlight = Reservations()
    private var lastLease: UInt64
    private let weakAge: Int64
    private(set) var strong: KeyWindow
    private(set) var weak: KeyWindow

    /// Makes an empty table.
    ///
    /// - Parameters:
    ///   - window: how long and how many messages are remembered.
    ///   - lastLease: the number before that of its first lease.
    package init(_ window: SeenWindow, lastLease: UInt64 = 0) {
        self.lastLease = lastLease
        weakAge = window.weakAge.inNanoseconds
        strong = KeyWindow(age: window.age, count: window.count)
        weak = KeyWindow(age: max(window.age, window.weakAge), weakAge: window.weakAge, count: window.count)
    }

    package mutating func begin(_ keys: DedupeKeys, _ now: MonotonicInstant) -> SeenState {
        // Here too, because a store on disk forgets the entries that this table no longer counts.
        if keys.strength == .strong { strong.forgetOld(now) } else { weak.forgetOld(now) }
        if keys.strength == .strong ? strong.contains(keys, now) : weak.contains(keys, now) { return .done }
        if let number = inFlight.number(of: keys, arrivedAt: now, weakAge: weakAge) {
            return .inFlight(SeenLease(number: number, keys: keys, arrivedAt: now))
        }
        lastLease += 1
        let lease = SeenLease(number: lastLease, keys: keys, arrivedAt: now)
        inFlight.insert(lease)
        return .fresh(lease)
    }

    package mutating func commit(_ lease: SeenLease, _ now: MonotonicInstant) {
        if inFlight.remove(lease) { remember(lease.keys, now, arrivedAt: lease.arrivedAt) }
    }

    /// Adds a handled message whose lease was elsewhere, such as one of an earlier process.
    ///
    /// - Parameters:
    ///   - keys: its keys.
    ///   - now: when it ended.
    ///   - arrival: when it arrived, which counts for weak keys only.
    package mutating func remember(_ keys: DedupeKeys, _ now: MonotonicInstant, arrivedAt arrival: MonotonicInstant) {
        switch keys.strength {
        case .strong: strong.insert(keys, now)
        case .weak: weak.insert(keys, now, arrivedAt: arrival)
        }
    }

    package mutating func release(_ lease: SeenLease) { _ = inFlight.remove(lease) }

    package var counts: SeenCounts {
        SeenCounts(inFlight: inFlight.count, strong: strong.counts, weak: weak.counts)
    }

    /// Whether any key is still reserved under the lease; the keys of a duplicate may be only some of the first's.
    package func isInFlight(_ lease: SeenLease) -> Bool {
        inFlight.contains(lease.number, lease.keys.primary)
            || lease.keys.secondary.map { inFlight.contains(lease.number, $0) } == true
    }

    /// Whether a commit or a release of the lease would end it.
    package func canEnd(_ lease: SeenLease) -> Bool { inFlight.contains(lease.number, lease.keys.primary) }
}
