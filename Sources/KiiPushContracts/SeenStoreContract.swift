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

    /// Prepares the suite.
    ///
    /// - Parameter makeStore: makes an empty store with this window; called once per guarantee, so a store in a file
    ///   needs a new file each time.
    public init(makeStore: @escaping @Sendable (SeenWindow) throws -> any SeenStore) { self.makeStore = makeStore }

    /// Checks every guarantee, and records an issue for each one that is broken.
    ///
    /// - Parameter sourceLocation: the location of issues.
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
        if case .fresh(let lease) = state { return lease }
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
