import Synchronization

/// A deduplicator's access to its store: a store that throws leaves no message in flight for ever.
///
/// An end that the store rejected is kept and reported again: when a copy of the message arrives, when the store
/// accepts the end of another message, and when the list of these ends is full.
struct Leases: Sendable {
    let store: any SeenStore
    let waiters: InFlightWaiters
    private let failures = FailureCount()

    /// How often the store threw.
    var storeFailures: Int { failures.count.load(ordering: .relaxed) }

    /// Whether the last call of the store threw.
    var isFailing: Bool { failures.isFailing.load(ordering: .relaxed) }

    /// How many ends the store has not accepted yet; all deduplicators of the store have the same number.
    var unreportedEnds: Int { waiters.untold.count }

    /// The store's counts.
    var storeCounts: SeenCounts? { store.counts }

    init(_ store: any SeenStore) {
        self.store = store
        waiters = .of(store)
    }

    // MARK: Beginning

    /// Looks a message up in the store; the answer is in flight only if the message has not ended.
    ///
    /// - Throws: what the store threw.
    @inline(__always)
    func begin(_ keys: DedupeKeys, now: MonotonicInstant) throws -> SeenState {
        if waiters.untold.count >= UnreportedEnds.bound { try makeRoom() }
        let state = try counted { try store.begin(keys, now: now) }
        if case .inFlight(let lease) = state, unreportedEnds > 0 { return try beginAnew(keys, lease, now: now) }
        return state
    }

    /// Reports the ends that the store missed, and looks up the message again that it takes to be in flight.
    @inline(never)
    private func beginAnew(_ keys: DedupeKeys, _ lease: SeenLease, now: MonotonicInstant) throws -> SeenState {
        var state = SeenState.inFlight(lease)
        // Each turn removes an end from the list, or throws.
        while case .inFlight(let lease) = state, let end = waiters.untold[lease] {
            try tellOrForget(end)
            state = try counted { try store.begin(keys, now: now) }
        }
        return state
    }

    /// Removes one end from a full list, or throws, so that no lease is begun whose end would not fit.
    @inline(never)
    private func makeRoom() throws {
        if let end = waiters.untold.next() { try tellOrForget(end) }
    }

    // MARK: Ending

    /// Reports to the store how a message ended, and then notifies those that wait for it.
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

    /// Reports up to two missed ends to a store that works again, so that the list empties faster than it fills.
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

    /// Reports a missed end to the store; a message that the store still cannot remember is released.
    ///
    /// In the worst case the message is handled again, as at-least-once delivery allows.
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

    /// Waits for the end of a message in flight, and returns the answer for its transport.
    func wait(for lease: SeenLease, now: MonotonicInstant) async -> Disposition {
        await waiters.wait(for: lease) { endedBefore(lease, now) }
    }

    /// The answer for a message that ended before anyone could wait for it; nil while it is in flight.
    private func endedBefore(_ lease: SeenLease, _ now: MonotonicInstant) -> Disposition? {
        if let end = waiters.untold[lease] { return end.disposition }
        // If the store fails, the transport retries, which is always safe.
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

    /// Runs a call that may throw, and counts it if it does.
    @inline(__always)
    private func counted<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            let result = try body()
            if failures.isFailing.load(ordering: .relaxed) { failures.isFailing.store(false, ordering: .relaxed) }
            return result
        } catch {
            failures.count.add(1, ordering: .relaxed)
            failures.isFailing.store(true, ordering: .relaxed)
            throw error
        }
    }
}

/// A count that a value can share with its copies.
private final class FailureCount: Sendable {
    let count = Atomic<Int>(0)
    let isFailing = Atomic<Bool>(false)
}

/// The message in flight that a duplicate repeats; an object, so that other messages need only a pointer for it.
package final class FirstInFlight: Sendable {
    private let leases: Leases

    init(_ leases: Leases) { self.leases = leases }

    /// The answer for its transport, when it has ended.
    func end(of lease: SeenLease, now: MonotonicInstant) async -> Disposition {
        await leases.wait(for: lease, now: now)
    }
}
