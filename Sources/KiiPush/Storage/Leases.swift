import Synchronization

/// What a deduplicator asks of its store, so that a store that throws leaves no message in flight for ever.
///
/// An end that the store could not be told is kept and told again: when a copy of the message comes, when the store
/// takes the end of another message, and when the list of them is full.
struct Leases: Sendable {
    private let store: any SeenStore
    private let waiters: InFlightWaiters
    private let failures = FailureCount()

    /// How often the store threw.
    var storeFailures: Int { failures.count.load(ordering: .relaxed) }

    /// How many ends the store could not be told so far; all deduplicators of the store have the same.
    var unreportedEnds: Int { waiters.untold.count }

    /// What the store counts.
    var storeCounts: SeenCounts? { store.counts }

    init(_ store: any SeenStore) {
        self.store = store
        waiters = .of(store)
    }

    // MARK: Beginning

    /// Asks the store for a message; in flight is what it answers only for a message that has not ended.
    ///
    /// - Throws: what the store threw.
    @inline(__always)
    func begin(_ keys: DedupeKeys, now: MonotonicInstant) throws -> SeenState {
        if waiters.untold.count >= UnreportedEnds.bound { try makeRoom() }
        let state = try counted { try store.begin(keys, now: now) }
        if case .inFlight(let lease) = state, unreportedEnds > 0 { return try beginAnew(keys, lease, now: now) }
        return state
    }

    /// Asks again for a message that the store takes to be in flight, once it was told what it has missed.
    @inline(never)
    private func beginAnew(_ keys: DedupeKeys, _ lease: SeenLease, now: MonotonicInstant) throws -> SeenState {
        var state = SeenState.inFlight(lease)
        // Each turn takes an end off the list, or throws.
        while case .inFlight(let lease) = state, let end = waiters.untold[lease] {
            try tellOrForget(end)
            state = try counted { try store.begin(keys, now: now) }
        }
        return state
    }

    /// Takes one end off a full list, or throws, so that no lease is begun whose end could find no place.
    @inline(never)
    private func makeRoom() throws {
        if let end = waiters.untold.next() { try tellOrForget(end) }
    }

    // MARK: Ending

    /// Tells the store how a message ended, and then those who wait for it.
    @inline(__always)
    func end(_ lease: SeenLease, isRemembered: Bool, at time: MonotonicInstant, _ disposition: Disposition) {
        do {
            try tell(lease, isRemembered: isRemembered, at: time)
            if unreportedEnds > 0 { tellMore() }
        } catch {
            waiters.untold.add(
                LeaseEnd(lease: lease, isRemembered: isRemembered, time: time, disposition: disposition))
        }
        waiters.finish(lease, disposition)
    }

    /// Tells those who wait for a message that is held; its lease goes on.
    func hold(_ lease: SeenLease, _ disposition: Disposition) { waiters.hold(lease, disposition) }

    /// Tells a store that seems well up to two ends that it missed, so that the list empties faster than it fills.
    @inline(never)
    private func tellMore() {
        for _ in 0..<2 {
            guard let end = waiters.untold.next(), (try? tell(end)) != nil else { return }
            waiters.untold.remove(end.lease)
        }
    }

    private func tell(_ end: LeaseEnd) throws {
        try tell(end.lease, isRemembered: end.isRemembered, at: end.time)
    }

    @inline(__always)
    private func tell(_ lease: SeenLease, isRemembered: Bool, at time: MonotonicInstant) throws {
        try counted {
            if isRemembered {
                try store.commit(lease, now: time)
            } else {
                try store.release(lease)
            }
        }
    }

    /// Tells the store an end that it missed; what it cannot remember even now it is to forget.
    ///
    /// At worst the message is handled again, which at-least-once allows.
    private func tellOrForget(_ end: LeaseEnd) throws {
        do {
            try tell(end)
        } catch {
            guard end.isRemembered else { throw error }
            try counted { try store.release(end.lease) }
        }
        waiters.untold.remove(end.lease)
    }

    // MARK: Waiting

    /// Waits for the end of a message in flight, and returns what its transport is told.
    func wait(for lease: SeenLease, now: MonotonicInstant) async -> Disposition {
        await waiters.wait(for: lease) { endedBefore(lease, now) }
    }

    /// What is known of a message that ended before anyone could wait for it; nil while it is in flight.
    private func endedBefore(_ lease: SeenLease, _ now: MonotonicInstant) -> Disposition? {
        if let end = waiters.untold[lease] { return end.disposition }
        // A store that cannot tell leaves it to the transport to try again, which is always safe.
        guard let isInFlight = try? counted({ try store.isInFlight(lease) }) else { return .retryLater }
        if isInFlight { return nil }
        switch try? counted({ try store.begin(lease.keys, now: now) }) {
        case .done?: return .accept
        case .fresh(let own)?:
            end(own, isRemembered: false, at: now, .retryLater)
            return .retryLater
        case .inFlight?, nil: return .retryLater
        }
    }

    /// Does what may throw, and counts it if it does.
    @inline(__always)
    private func counted<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            failures.count.add(1, ordering: .relaxed)
            throw error
        }
    }
}

/// A count that a value can share with its copies.
private final class FailureCount: Sendable {
    let count = Atomic<Int>(0)
}

/// The message in flight that a duplicate repeats; an object, to take little room in the messages that repeat none.
package final class FirstInFlight: Sendable {
    private let leases: Leases

    init(_ leases: Leases) { self.leases = leases }

    /// What its transport is told, when it has ended.
    func end(of lease: SeenLease, now: MonotonicInstant) async -> Disposition {
        await leases.wait(for: lease, now: now)
    }
}
