/// Drops a message that was handled before, or is being handled now.
///
/// Networks deliver twice: one copy a subscription, one a device's installation, a redelivery after a lost
/// acknowledgement, the same event over two transports. The deduplicator reserves a message's keys when it comes in
/// and confirms them only when it has ended for good, so that a message whose handler failed is handled when it is
/// delivered again. Which keys: ``PushMessage/dedupeKeys(app:secret:)``, or your own by ``RouteDedupe`` for a route and
/// by ``DedupeKeyMaker`` for a kind of message.
///
/// Put it first in the chain. It promises: while the window lasts, a message that was handled is not handled again,
/// within one process, or for as long as the store lasts. It cannot tell two honest messages apart that are the same to
/// the byte, so messages without a strong key are the same only if they arrived less than five seconds apart: however
/// long the first one is being handled, and whenever the second is judged.
///
/// Of a message whose handlers have failed in part, it keeps which routes are done: when the transport delivers it again,
/// only the others run. It does so for at most 256 messages that have not ended, in memory; of the oldest one beyond
/// that all handlers run again. A `PushService` does this itself, for every message and on disk.
///
/// A store that throws loses no message and keeps no copy waiting:
/// - When it cannot begin a message, the message passes or fails, as ``StoreFailure`` says.
/// - When it cannot be told how a message ended, the end is kept and told again: when a copy comes, which is then
///   judged anew, and when the store takes the end of another message. What it still cannot remember when a copy
///   comes, it is to forget; if it cannot do that either, the copy passes or fails, as ``StoreFailure`` says.
/// - At most 1,024 such ends are kept, and those of the messages that were in flight by then. While so many wait, no
///   message is begun before the store has been told one of them, and ``StoreFailure`` decides.
/// - When a copy that waits cannot learn how the first one ended, its transport is told to retry later.
///
/// ``counts`` shows each of these.
public struct Deduplicator: Middleware {
    /// What happens to a message when the store cannot tell.
    public enum StoreFailure: Sendable, Hashable {
        /// It passes, and may be handled twice.
        case failOpen
        /// It fails, and the transport is told to retry later.
        case failClosed
    }

    /// What an operator should watch; a snapshot.
    public struct Counts: Sendable, Hashable {
        /// How often the store threw when this deduplicator asked it; above zero, the store is sick.
        public let storeFailures: Int

        /// How many ends of messages the store could not be told and is still to be told; zero when it is well again.
        public let unreportedEnds: Int

        /// What the store counts itself: messages in flight, remembered, and forgotten too early; nil if it does not.
        public let store: SeenCounts?
    }

    private let leases: Leases
    /// The receiver's, or the one that was given; the system's while there is neither.
    private var clock: any ReceiverClock
    private let isClockGiven: Bool
    private let secret: DedupeSecret
    private let keys: DedupeKeyMaker
    private let onStoreFailure: StoreFailure
    private let handledRoutes: HandledRoutes

    /// For how many messages that failed in part it is kept which routes have handled them.
    static let mostPartlyHandled = 256

    /// The counts as they are now; reading them takes constant time.
    public var counts: Counts {
        Counts(storeFailures: leases.storeFailures, unreportedEnds: leases.unreportedEnds, store: leases.storeCounts)
    }

    /// Makes a deduplicator that remembers in memory.
    ///
    /// - Parameters:
    ///   - window: how long and how many messages are remembered.
    ///   - keys: what names a message.
    ///   - clock: a clock for use without a receiver; leave it out in a chain, whose receiver gives its own.
    public init(
        window: SeenWindow = .standard, keys: DedupeKeyMaker = .automatic, clock: (any ReceiverClock)? = nil
    ) {
        self.init(InMemorySeenStore(window: window), .ofProcess, keys, .failOpen, window.weakAge, clock)
    }

    /// Makes a deduplicator on a store of yours.
    ///
    /// Receivers may share a store, each with a deduplicator of its own and all with one secret and the same `keys`:
    /// then a message that comes to several of them is handled by one. The store must then be a class: what waits for
    /// a store's leases is known by the object.
    ///
    /// - Parameters:
    ///   - store: where messages are remembered.
    ///   - secret: what the keys are made with; a store that outlives the process needs one that does too.
    ///   - keys: what names a message.
    ///   - onStoreFailure: what happens to a message when the store throws.
    ///   - clock: a clock for use without a receiver; leave it out in a chain, whose receiver gives its own.
    public init(
        store: any SeenStore, secret: DedupeSecret, keys: DedupeKeyMaker = .automatic,
        onStoreFailure: StoreFailure = .failOpen, clock: (any ReceiverClock)? = nil
    ) {
        self.init(store, secret, keys, onStoreFailure, SeenWindow.standard.weakAge, clock)
    }

    private init(
        _ store: any SeenStore, _ secret: DedupeSecret, _ keys: DedupeKeyMaker, _ onStoreFailure: StoreFailure,
        _ weakAge: Duration, _ clock: (any ReceiverClock)?
    ) {
        leases = Leases(store)
        self.secret = secret
        self.keys = keys
        self.onStoreFailure = onStoreFailure
        self.clock = clock ?? SystemClock()
        isClockGiven = clock != nil
        handledRoutes = HandledRoutes(weakAge: weakAge)
    }

    /// Reserves the message, or drops it.
    public func admit(_ message: inout RoutedMessage) throws -> Verdict {
        switch message.bypass {
        case .all, .seen: return .pass
        case .none, .breaker: break
        }
        let place = ResourceDigest(of: message.message.storage, secret)
        message.place = place
        let keys =
            message.routes.dedupeKeys(of: message.message, message.app, secret, at: place)
            ?? self.keys.keys(of: message.message, message.app, secret, at: place)
        do {
            switch try leases.begin(keys, now: message.arrivedAt) {
            case .fresh(let lease):
                message.lease = lease
                if handledRoutes.count > 0 { stopHandledRoutes(&message, lease) }
                return .pass
            case .inFlight(let lease):
                message.first = FirstInFlight(leases)
                return .drop(.duplicateInFlight(lease))
            case .done: return .drop(.duplicate)
            }
        } catch {
            if onStoreFailure == .failClosed { throw error }
            return .pass
        }
    }

    /// Stops the routes that have handled the message already, when it was delivered before.
    @inline(never)
    private func stopHandledRoutes(_ message: inout RoutedMessage, _ lease: SeenLease) {
        let handled = handledRoutes.routes(of: lease)
        if !handled.isEmpty { message.stopRoutes(.duplicate) { handled.containsExactly($0.id) } }
    }

    /// Confirms the reservation if the message ended for good, and undoes it if it is to be handled when it comes again.
    public func settle(_ message: RoutedMessage, _ outcome: Outcome) {
        guard let lease = message.lease else { return }
        let isRemembered = outcome.isRemembered
        // Before the lease ends, or a copy might begin in between and know nothing of it.
        if case .failed(let failure) = outcome {
            if !failure.handled.isEmpty { handledRoutes.add(failure.handled.ids, of: lease) }
        } else if isRemembered, handledRoutes.count > 0 {
            handledRoutes.remove(lease)
        }
        message.recorder?.settle(isRemembered ? .commit : .release)
        let time = isRemembered ? clock.now : message.arrivedAt
        leases.end(lease, isRemembered: isRemembered, at: time, outcome.disposition)
    }

    /// Lets those go who wait for a message that is held: like its own transport, theirs is told that it is accepted where
    /// it lies on disk, else to come again.
    public func hold(_ message: RoutedMessage) {
        guard let lease = message.lease else { return }
        message.recorder?.settle(.keep)
        leases.hold(lease, message.isStored ? .accept : .retryLater)
    }
}

extension Deduplicator: ClockedMiddleware {
    func attached(to clock: any ReceiverClock) -> any Middleware {
        precondition(!isClockGiven || self.clock.isSame(as: clock), .otherClock(name))
        var attached = self
        attached.clock = clock
        return attached
    }
}
