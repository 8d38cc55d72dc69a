import Synchronization

/// A seen store that lives as long as the process.
///
/// Every call takes constant time: at most a few messages whose time is over are forgotten along the way. Memory
/// follows use: nothing is set aside for a window that is not full. A million remembered messages take less than 40 MB.
public final class InMemorySeenStore: SeenStore {
    private let state: Mutex<SeenTable>

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

/// What a seen store knows: a state machine without a clock of its own.
package struct SeenTable {
    private var inFlight = Reservations()
    private var lastLease: UInt64
    private(set) var strong: KeyWindow
    private(set) var weak: KeyWindow

    /// Makes an empty one.
    ///
    /// - Parameters:
    ///   - window: how long and how many messages are remembered.
    ///   - lastLease: the number after which those of its leases begin.
    package init(_ window: SeenWindow, lastLease: UInt64 = 0) {
        self.lastLease = lastLease
        strong = KeyWindow(age: window.age, count: window.count)
        weak = KeyWindow(age: window.weakAge, count: window.count)
    }

    package mutating func begin(_ keys: DedupeKeys, _ now: MonotonicInstant) -> SeenState {
        // Here too, since a store on disk forgets what this table counts no more.
        if keys.strength == .strong { strong.forgetOld(now) } else { weak.forgetOld(now) }
        if contains(keys.primary, keys.strength, now) { return .done }
        if let second = keys.secondary, contains(second, keys.strength, now) { return .done }
        if let number = inFlight[keys.primary] ?? keys.secondary.flatMap({ inFlight[$0] }) {
            return .inFlight(SeenLease(number: number, keys: keys))
        }
        lastLease += 1
        let lease = SeenLease(number: lastLease, keys: keys)
        inFlight.insert(lease)
        return .fresh(lease)
    }

    private func contains(_ key: DedupeKey, _ strength: DedupeKeys.Strength, _ now: MonotonicInstant) -> Bool {
        strength == .strong ? strong.contains(key, now) : weak.contains(key, now)
    }

    package mutating func commit(_ lease: SeenLease, _ now: MonotonicInstant) {
        if inFlight.remove(lease) { remember(lease.keys, now) }
    }

    /// Takes in a handled message that had its lease elsewhere, as one that an earlier process handled.
    package mutating func remember(_ keys: DedupeKeys, _ now: MonotonicInstant) {
        switch keys.strength {
        case .strong: strong.insert(keys, now)
        case .weak: weak.insert(keys, now)
        }
    }

    package mutating func release(_ lease: SeenLease) { _ = inFlight.remove(lease) }

    package var counts: SeenCounts {
        SeenCounts(inFlight: inFlight.count, strong: strong.counts, weak: weak.counts)
    }

    /// Whether any key is still reserved under the lease; the keys of a duplicate may be only some of the first's.
    package func isInFlight(_ lease: SeenLease) -> Bool {
        inFlight[lease.keys.primary] == lease.number
            || lease.keys.secondary.map { inFlight[$0] == lease.number } == true
    }

    /// Whether a commit or a release of the lease would end it.
    package func canEnd(_ lease: SeenLease) -> Bool { inFlight[lease.keys.primary] == lease.number }
}
