public import KiiPush
public import Testing

/// All guarantees of `SeenStore`, as one test to run against your own store.
///
/// ```swift
/// @Test("my store meets the guarantees of a seen store")
/// func contract() async {
///     await SeenStoreContract { window in MyStore(window: window) }.verify()
/// }
/// ```
///
/// Each guarantee gets its own store. A failure names the broken guarantee, and what the store did instead. The suite
/// passes its own times to the store, so it needs no clock and never waits.
public struct SeenStoreContract: Sendable {
    private let makeStore: @Sendable (SeenWindow) throws -> any SeenStore

    /// Takes what makes an empty store with a window; called once per guarantee, so a store in a file needs a new file
    /// each time.
    public init(makeStore: @escaping @Sendable (SeenWindow) throws -> any SeenStore) { self.makeStore = makeStore }

    /// Checks every guarantee, and records an issue for each one that is broken.
    public func verify(sourceLocation: SourceLocation = #_sourceLocation) async {
        await verify { guarantee, what in Issue.record("\(guarantee): \(what)", sourceLocation: sourceLocation) }
    }

    /// Checks every guarantee, and reports each broken one to `report`.
    package func verify(_ report: @escaping @Sendable (_ guarantee: String, _ what: String) -> Void) async {
        for guarantee in SeenStoreGuarantee.all {
            do {
                let store = try makeStore(guarantee.window)
                try await guarantee.check(SeenStoreTrial(store: store) { report(guarantee.text, $0) })
            } catch {
                report(guarantee.text, "the store threw \(error)")
            }
        }
    }
}

/// One guarantee of a deduplication store, and the check for it.
struct SeenStoreGuarantee: Sendable {
    let text: String
    let window: SeenWindow
    let check: @Sendable (SeenStoreTrial) async throws -> Void

    init(
        _ text: String, window: SeenWindow = .standard,
        check: @escaping @Sendable (SeenStoreTrial) async throws -> Void
    ) {
        self.text = text
        self.window = window
        self.check = check
    }
}

/// A test case for one guarantee of a store.
struct SeenStoreTrial: Sendable {
    let store: any SeenStore
    /// Reports that the guarantee is broken, and how.
    let fail: @Sendable (_ what: String) -> Void

    func expect(_ condition: Bool, _ otherwise: String) {
        if !condition { fail(otherwise) }
    }

    // MARK: Calls

    /// Begins a message that should be new; if it was not, its lease is invented, so that the test case can continue.
    @discardableResult
    func begin(_ keys: DedupeKeys, at seconds: Int64, _ when: String) throws -> SeenLease {
        let state = try store.begin(keys, now: .seconds(seconds))
        if case .fresh(let lease) = state {
            expect(lease.keys == keys, "\(when) a lease should have the keys of its message")
            expect(lease.arrivedAt == .seconds(seconds), "\(when) a lease should have the arrival of its message")
            return lease
        }
        fail("\(when) a message should be fresh, it was \(state.name)")
        return SeenLease(number: .max, keys: keys, arrivedAt: .seconds(seconds))
    }

    /// Begins a message and ends it with success.
    @discardableResult
    func handle(_ keys: DedupeKeys, at seconds: Int64) throws -> SeenLease {
        let lease = try begin(keys, at: seconds, "the first time")
        try store.commit(lease, now: .seconds(seconds))
        return lease
    }

    func expectDone(_ keys: DedupeKeys, at seconds: Int64, _ when: String) throws {
        let state = try store.begin(keys, now: .seconds(seconds))
        expect(state == .done, "\(when) a message should be done, it was \(state.name)")
    }

    func expectInFlight(_ keys: DedupeKeys, at seconds: Int64, _ when: String) throws {
        let state = try store.begin(keys, now: .seconds(seconds))
        expect(state == .inFlight, "\(when) a message should be in flight, it was \(state.name)")
    }

    func expectCounts(_ counts: SeenCounts, _ when: String) throws {
        guard let found = store.counts else { return fail("\(when) a store that counts should count") }
        let pairs = [
            ("messages in flight", found.inFlight, counts.inFlight),
            ("messages with strong keys", found.strong.remembered, counts.strong.remembered),
            ("messages with a weak key", found.weak.remembered, counts.weak.remembered),
            ("strong ones forgotten early", found.strong.evictedEarly, counts.strong.evictedEarly),
            ("weak ones forgotten early", found.weak.evictedEarly, counts.weak.evictedEarly),
        ]
        for (what, isCounted, isThere) in pairs {
            expect(isCounted == isThere, "\(when) there should be \(isThere) \(what), it counts \(isCounted)")
        }
    }
}

extension SeenState {
    fileprivate var name: String {
        switch self {
        case .fresh: "fresh"
        case .inFlight: "in flight"
        case .done: "done"
        }
    }
}

extension MonotonicInstant {
    static func seconds(_ seconds: Int64) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: seconds * 1_000_000_000)
    }
}

extension SeenStoreGuarantee {
    /// Every guarantee, in the order of the protocol's documentation.
    static let all = life + keys + leases + weakKeys + windows + time + counts + [atOnce, twoKeysAtOnce]

    // MARK: The life of a message

    private static let life = [
        Self("a message is fresh, then in flight, then done") { trial in
            let keys = try strong(1)
            let lease = try trial.begin(keys, at: 0, "the first time")
            try trial.expectInFlight(keys, at: 0, "while its lease lives")
            try trial.store.commit(lease, now: .seconds(0))
            try trial.expectDone(keys, at: 0, "after its commit")
        },
        Self("a message that was released is fresh again") { trial in
            let keys = try strong(1)
            let first = try trial.begin(keys, at: 0, "the first time")
            try trial.store.release(first)
            let second = try trial.begin(keys, at: 0, "after its release")
            trial.expect(first.number != second.number, "a new lease should have a new number")
            try trial.store.commit(second, now: .seconds(0))
            try trial.expectDone(keys, at: 0, "after its second lease was committed")
        },
        Self("messages do not affect each other") { trial in
            let first = try trial.begin(try strong(1), at: 0, "the first time")
            let second = try trial.begin(try strong(2), at: 0, "while another is in flight")
            trial.expect(first.number != second.number, "two leases should have two numbers")
            try trial.store.commit(first, now: .seconds(0))
            try trial.store.release(second)
            try trial.begin(try strong(2), at: 0, "after its release, though another was committed")
            try trial.expectDone(try strong(1), at: 0, "after its commit, though another was released")
        },
    ]

    // MARK: Two keys

    private static let keys = [
        Self("a message with two keys is found by either key") { trial in
            let both = try strong(1, 2)
            let lease = try trial.begin(both, at: 0, "the first time")
            for (keys, which) in [(try strong(1), "by its first key"), (try strong(2), "by its second key")] {
                try trial.expectInFlight(keys, at: 0, which)
            }
            try trial.expectInFlight(try strong(3, 2), at: 0, "by its second key, beside a new one")
            try trial.store.commit(lease, now: .seconds(0))
            try trial.expectDone(try strong(1), at: 0, "by its first key")
            try trial.expectDone(try strong(2), at: 0, "by its second key")
            try trial.expectDone(try strong(3, 2), at: 0, "by its second key, beside a new one")
        },
        Self("where two messages have two keys each, the second key decides") { trial in
            let first = try trial.begin(try strong(1, 2), at: 0, "the first time")
            let second = try trial.begin(try strong(1, 3), at: 0, "with another second key, while one is in flight")
            trial.expect(first.number != second.number, "two leases should have two numbers")
            try trial.expectInFlight(try strong(1, 2), at: 0, "by both its keys")
            try trial.expectInFlight(try strong(1, 3), at: 0, "by both its keys")
            try trial.store.commit(first, now: .seconds(0))
            try trial.expectInFlight(try strong(1, 3), at: 0, "though one with its first key is done")
            try trial.store.release(second)
            let again = try trial.begin(try strong(1, 3), at: 0, "when it was released")
            try trial.store.commit(again, now: .seconds(0))
            for keys in [try strong(1, 2), try strong(1, 3), try strong(1), try strong(2), try strong(3)] {
                try trial.expectDone(keys, at: 0, "after both were handled")
            }
            try trial.begin(try strong(1, 4), at: 0, "with a third second key, after both were handled")
        },
        Self("a release frees both keys") { trial in
            try trial.store.release(try trial.begin(try strong(1, 2), at: 0, "the first time"))
            try trial.begin(try strong(2), at: 0, "by its second key after its release")
            try trial.begin(try strong(1), at: 0, "by its first key after its release")
        },
        Self("a duplicate reserves no key, not even a new one") { trial in
            let lease = try trial.begin(try strong(1), at: 0, "the first time")
            try trial.expectInFlight(try strong(2, 1), at: 0, "by its second key")
            try trial.begin(try strong(2), at: 0, "though a duplicate had its key")
        },
    ]

    // MARK: Leases

    private static let leases = [
        Self("a lease never expires by age", window: brief) { trial in
            let lease = try trial.begin(try strong(1), at: 0, "the first time")
            let weakLease = try trial.begin(try weak(2), at: 0, "the first time")
            try trial.expectInFlight(try strong(1), at: 1_000_000, "long after the window's age")
            for lease in [lease, weakLease] {
                try trial.store.commit(lease, now: .seconds(1_000_000))
            }
            try trial.expectDone(try strong(1), at: 1_000_001, "counted from its commit")
        },
        Self("a lease is never evicted by count", window: SeenWindow(count: 2)) { trial in
            let keys = try strong(1)
            let lease = try trial.begin(keys, at: 0, "the first time")
            for number in 2..<50 { try trial.handle(try strong(number), at: 0) }
            let others = try (50..<100).map { try trial.begin(try strong($0), at: 0, "the first time") }
            try trial.expectInFlight(keys, at: 0, "after more messages than the window has")
            try trial.expectInFlight(try strong(50), at: 0, "among more leases than the window has")
            try trial.store.commit(lease, now: .seconds(0))
            try trial.expectDone(keys, at: 0, "after its commit")
        },
        Self("an ended lease has no effect") { trial in
            let keys = try strong(1)
            let released = try trial.begin(keys, at: 0, "the first time")
            try trial.store.release(released)
            try trial.store.commit(released, now: .seconds(0))
            let committed = try trial.begin(keys, at: 0, "when a released lease was committed")
            try trial.store.release(released)
            try trial.store.commit(released, now: .seconds(0))
            try trial.expectInFlight(keys, at: 0, "when an earlier lease was ended again")
            try trial.store.commit(committed, now: .seconds(0))
            try trial.store.release(committed)
            try trial.expectDone(keys, at: 0, "when a committed lease was released")
        },
        Self("a second commit of a lease does not renew it", window: brief) { trial in
            let lease = try trial.handle(try strong(1), at: 0)
            try trial.store.commit(lease, now: .seconds(50))
            try trial.begin(try strong(1), at: 61, "when the window's age was over since the first commit")
        },
        Self("a lease that the store never issued has no effect") { trial in
            let unknown = SeenLease(number: 4_000_000_000, keys: try strong(1), arrivedAt: .seconds(0))
            try trial.store.commit(unknown, now: .seconds(0))
            let lease = try trial.begin(try strong(1), at: 0, "when an unknown lease was committed")
            try trial.store.release(unknown)
            try trial.store.commit(unknown, now: .seconds(0))
            try trial.expectInFlight(try strong(1), at: 0, "when an unknown lease of its key was ended")
        },
    ]
}
