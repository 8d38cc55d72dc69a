import Synchronization

/// Drops a message that was handled before, or is being handled now.
///
/// Networks deliver twice: one copy a subscription, one a device's installation, a redelivery after a lost
/// acknowledgement, the same event over two transports. The deduplicator reserves a message's keys when it comes in
/// and confirms them only when it has ended for good, so that a message whose handler failed is handled when it is
/// delivered again. Which keys: ``PushMessage/dedupeKeys(app:secret:)``.
///
/// Put it first in the chain. It promises: while the window lasts, a message that was handled is not handled again,
/// within one process. It cannot tell two honest messages apart that are the same to the byte, so for messages without
/// a strong key it looks back only five seconds.
public struct Deduplicator: Middleware {
    /// What happens to a message when the store cannot tell.
    public enum StoreFailure: Sendable, Hashable {
        /// It passes, and may be handled twice.
        case open
        /// It fails, and the transport is told to retry later.
        case closed
    }

    private let store: any SeenStore
    private let clock: any ReceiverClock
    private let secret: DedupeSecret
    private let onStoreFailure: StoreFailure
    private let waiters: InFlightWaiters
    private let failures = FailureCount()

    /// How often the store threw; each time a message passed, failed or was forgotten as `onStoreFailure` says.
    public var storeFailures: Int { failures.count.load(ordering: .relaxed) }

    /// Makes a deduplicator that remembers in memory.
    ///
    /// - Parameters:
    ///   - window: how long and how many messages are remembered.
    ///   - clock: the receiver's clock.
    public init(window: SeenWindow = .standard, clock: any ReceiverClock = SystemClock()) {
        self.init(store: InMemorySeenStore(window: window), secret: .random(), clock: clock)
    }

    /// Makes a deduplicator on a store of yours.
    ///
    /// Receivers may share a store, each with a deduplicator of its own and all with one secret: then a message that
    /// comes to several of them is handled by one.
    ///
    /// - Parameters:
    ///   - store: where messages are remembered.
    ///   - secret: what the keys are made with; a store that outlives the process needs one that does too.
    ///   - onStoreFailure: what happens to a message when the store throws.
    ///   - clock: the receiver's clock.
    public init(
        store: any SeenStore, secret: DedupeSecret, onStoreFailure: StoreFailure = .open,
        clock: any ReceiverClock = SystemClock()
    ) {
        self.store = store
        self.secret = secret
        self.onStoreFailure = onStoreFailure
        self.clock = clock
        waiters = .of(store)
    }

    /// Reserves the message, or drops it.
    public func admit(_ message: inout RoutedMessage) throws -> Verdict {
        if case .all = message.permit { return .pass }
        let keys = message.message.dedupeKeys(app: message.app, secret: secret)
        do {
            switch try store.begin(keys, now: message.arrivedAt) {
            case .fresh(let lease):
                message.lease = lease
                return .pass
            case .inFlight(let lease):
                message.first = FirstInFlight(store: store, waiters: waiters)
                return .drop(.duplicateInFlight(lease))
            case .done: return .drop(.duplicate)
            }
        } catch {
            failures.count.add(1, ordering: .relaxed)
            if onStoreFailure == .closed { throw error }
            return .pass
        }
    }

    /// Confirms the reservation if the message ended for good, and undoes it if it is to be handled when it comes again.
    public func settle(_ message: RoutedMessage, _ outcome: Outcome) {
        guard let lease = message.lease else { return }
        end(lease, isRemembered: outcome.isRemembered)
        waiters.finish(lease, outcome.disposition)
    }

    /// Lets those go who wait for a message that is held: like its own transport's, theirs is told to come again.
    public func hold(_ message: RoutedMessage) {
        guard let lease = message.lease else { return }
        waiters.hold(lease, .retryLater)
    }

    /// Tells the store; what it cannot remember it is to forget, so that no copy waits for a message that has ended.
    ///
    /// At worst the message is handled again, which at-least-once allows.
    private func end(_ lease: SeenLease, isRemembered: Bool) {
        do {
            if isRemembered { return try store.commit(lease, now: clock.now) }
        } catch {
            failures.count.add(1, ordering: .relaxed)
        }
        do {
            try store.release(lease)
        } catch {
            failures.count.add(1, ordering: .relaxed)
        }
    }
}

/// A count that a value can share with its copies.
private final class FailureCount: Sendable {
    let count = Atomic<Int>(0)
}

/// The message in flight that a duplicate repeats; an object, to take little room in the messages that repeat none.
final class FirstInFlight: Sendable {
    private let store: any SeenStore
    private let waiters: InFlightWaiters

    init(store: any SeenStore, waiters: InFlightWaiters) {
        self.store = store
        self.waiters = waiters
    }

    /// What its transport is told, when it has ended.
    func end(of lease: SeenLease, now: MonotonicInstant) async -> Disposition {
        await waiters.wait(for: lease) { endedBefore(lease, now) }
    }

    /// What the store knows of a message that ended before anyone could wait for it; nil while it is in flight.
    private func endedBefore(_ lease: SeenLease, _ now: MonotonicInstant) -> Disposition? {
        // A store that cannot tell leaves it to the transport to try again, which is always safe.
        guard let isInFlight = try? store.isInFlight(lease) else { return .retryLater }
        if isInFlight { return nil }
        switch try? store.begin(lease.keys, now: now) {
        case .done?: return .accept
        case .fresh(let own)?:
            try? store.release(own)
            waiters.finish(own, .retryLater)
            return .retryLater
        case .inFlight?, nil: return .retryLater
        }
    }
}
