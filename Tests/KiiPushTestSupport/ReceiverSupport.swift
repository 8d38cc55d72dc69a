import KiiPushTesting
import Synchronization

@testable import KiiPush

/// A door that tasks wait at until it is opened, once and for good: how tests put tasks in order without sleeping.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    func wait() async {
        await withCheckedContinuation { waiter in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiters.append(waiter) }
                return state.isOpen
            }
            if isOpen { waiter.resume() }
        }
    }
}

/// A seen store that takes down what it is asked.
final class SpyStore: SeenStore {
    let log = EventLog()
    private let store = InMemorySeenStore()

    func begin(_ keys: DedupeKeys, now: MonotonicInstant) -> SeenState {
        let state = store.begin(keys, now: now)
        switch state {
        case .fresh: log.add("fresh")
        case .inFlight: log.add("inFlight")
        case .done: log.add("done")
        }
        return state
    }

    func commit(_ lease: SeenLease, now: MonotonicInstant) {
        log.add("commit")
        store.commit(lease, now: now)
    }

    func release(_ lease: SeenLease) {
        log.add("release")
        store.release(lease)
    }
}

/// What a receiver's listener was told.
final class TraceLog: Sendable {
    private let list = Mutex<[Trace]>([])

    var traces: [Trace] { list.withLock { $0 } }

    func add(_ trace: Trace) { list.withLock { $0.append(trace) } }
}

extension Metrics {
    /// The counts that are not zero, as `outcome reason: count`.
    var nonzero: [String] {
        outcomes.filter { $0.messages > 0 }
            .map { count in "\(count.outcome)\(count.reason.map { " \($0)" } ?? ""): \(count.messages)" }
    }
}

/// A switch that handlers and middlewares look at.
final class Flag: Sendable {
    private let value = Atomic<Bool>(false)

    var isSet: Bool { value.load(ordering: .acquiring) }

    func set() { value.store(true, ordering: .releasing) }

    func clear() { value.store(false, ordering: .releasing) }
}
