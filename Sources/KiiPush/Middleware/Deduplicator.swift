/// Drops a message that was handled before, or that is being handled now.
///
/// A message may arrive twice: for two subscriptions or installations, after a lost acknowledgement, or over two
/// transports. Put the deduplicator first in the chain: it reserves a message's keys when the message arrives, and
/// confirms them only when the message has ended for good. So a message whose handler failed is handled when it is
/// delivered again, and one that was handled is not while the window lasts: within one process, or for as long as the
/// store lasts. ``PushMessage/dedupeKeys(app:secret:)`` describes the keys; ``RouteDedupe`` sets them for a route.
///
/// It cannot distinguish two legitimate messages with identical bytes. A message without a strong key is therefore
/// deduplicated only if it arrives less than five seconds before or after another.
///
/// If some handlers of a message fail, the deduplicator remembers which routes succeeded: when the transport delivers
/// the message again, only the others run. It remembers at most 256 such messages, in memory; beyond that, all handlers
/// of the oldest one run again. A `PushService` does this itself, for every message and on disk.
///
/// A copy that arrives while the message is being handled ends as ``Outcome/duplicate(_:)``, and its transport is asked
/// to deliver it again: by then it is a duplicate, or the message failed and the copy is handled.
///
/// A store that throws loses no message and blocks no copy. If it cannot begin a message, the message passes or fails,
/// as ``StoreFailure`` says. If it cannot record the end of a message, the deduplicator reports the end again before
/// the next message begins; if the store still fails then, it is asked to forget the message, and if that fails too,
/// the next message passes or fails. ``counts`` shows each of these.
public struct Deduplicator: Middleware {
    /// What happens to a message when the store fails.
    public enum StoreFailure: Sendable, Hashable {
        /// It passes, and may be handled twice.
        case failOpen
        /// It fails, and the transport is asked to retry later.
        case failClosed
    }

    /// Counts for an operator to watch; a snapshot.
    public struct Counts: Sendable, Hashable {
        /// How often the store threw.
        public let storeFailures: Int
        /// Whether the last call of the store threw.
        public let isStoreFailing: Bool
        /// How many ends of messages the store has not recorded yet; zero when it works again.
        public let unreportedEnds: Int
        /// The counts of the store itself: messages in flight, remembered, and forgotten too early; nil if it does not
        /// count.
        public let store: SeenCounts?
    }

    private let leases: Leases
    /// The given clock, else the receiver's; the system's while there is neither.
    private var clock: any ReceiverClock
    private let isClockGiven: Bool
    let secret: DedupeSecret
    private let onStoreFailure: StoreFailure
    private var handledRoutes: HandledRoutes
    /// The most messages that failed in part and whose successful routes are remembered.
    static let mostPartlyHandled = 256

    /// The counts as they are now, in constant time.
    public var counts: Counts { leases.counts }

    /// Makes a deduplicator that remembers in memory.
    ///
    /// - Parameters:
    ///   - window: how long and how many messages are remembered.
    ///   - clock: a clock for use without a receiver; leave it out in a chain, whose receiver sets its own.
    public init(window: SeenWindow = .standard, clock: (any ReceiverClock)? = nil) {
        self.init(store: InMemorySeenStore(window: window), secret: .ofProcess, clock: clock)
        handledRoutes = HandledRoutes(weakAge: window.weakAge)
    }

    /// Makes a deduplicator with a store of your own.
    ///
    /// Receivers may share a store, each with its own deduplicator, and all with the same secret. A message that
    /// reaches several of them is then handled by one.
    ///
    /// - Parameters:
    ///   - store: where messages are remembered.
    ///   - secret: the secret of the keys; a store that outlives the process needs a secret that does too.
    ///   - onStoreFailure: what happens to a message when the store throws.
    ///   - clock: a clock for use without a receiver; leave it out in a chain, whose receiver sets its own.
    public init(
        store: any SeenStore, secret: DedupeSecret, onStoreFailure: StoreFailure = .failOpen,
        clock: (any ReceiverClock)? = nil
    ) {
        leases = Leases(store)
        self.secret = secret
        self.onStoreFailure = onStoreFailure
        self.clock = clock ?? SystemClock()
        isClockGiven = clock != nil
        handledRoutes = HandledRoutes(weakAge: SeenWindow.standard.weakAge)
    }

    /// A copy with the clock of the receiver whose chain it belongs to: several may have the same deduplicator.
    func attached(to clock: any ReceiverClock) -> Deduplicator {
        precondition(!isClockGiven || self.clock.isSame(as: clock), .otherClock(name))
        var attached = self
        attached.clock = clock
        return attached
    }

    /// Whether it forgets with the process.
    var isInMemory: Bool { leases.isInMemory }

    /// Reserves the message, or drops it.
    public func admit(_ message: inout RoutedMessage) throws -> Verdict {
        switch message.bypass {
        case .all, .seen: return .pass
        case .none, .superseded: break
        }
        let place = ResourceDigest(of: message.message.storage, secret)
        message.place = place
        let keys = message.message.dedupeKeys(for: message.routes, message.app, secret, at: place)
        do {
            switch try begin(keys, message) {
            case .fresh(let lease):
                message.lease = lease
                let handled = handledRoutes.routes(of: lease)
                if !handled.isEmpty { message.stopRoutes(.duplicate) { handled.containsExactly($0.id) } }
                return .pass
            case .inFlight: return .drop(.duplicateInFlight)
            case .done: return .drop(.duplicate)
            }
        } catch {
            if onStoreFailure == .failClosed { throw error }
            return .pass
        }
    }

    private func begin(_ keys: DedupeKeys, _ message: RoutedMessage) throws -> SeenState {
        let state = try leases.begin(keys, now: message.arrivedAt)
        // One that has waited for long may be older than the end of its copy: as if the clock had been set back.
        guard keys.strength == .strong, case .fresh(let lease) = state,
            message.arrivedAt.advanced(byNanoseconds: SeenWindow.leastLag) < message.admittedAt
        else { return state }
        leases.end(lease, isRemembered: false, at: message.arrivedAt)
        return try leases.begin(keys, now: message.admittedAt)
    }

    /// Confirms the reservation if the message ended for good; undoes it if the message is to be handled when it
    /// arrives again.
    public func settle(_ message: RoutedMessage, _ outcome: Outcome) {
        guard let lease = message.lease else { return }
        let isRemembered = outcome.isRemembered
        // Before the lease ends, so that a copy which begins then sees it.
        if case .failed(let failure) = outcome {
            if !failure.handled.isEmpty { handledRoutes.add(failure.handled.ids, of: lease) }
        } else if isRemembered {
            handledRoutes.remove(lease)
        }
        leases.end(lease, isRemembered: isRemembered, at: isRemembered ? clock.now : message.arrivedAt)
    }
}
