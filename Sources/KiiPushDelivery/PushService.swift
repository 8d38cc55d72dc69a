public import KiiPush
import Synchronization

/// Brings payloads from transports to the handlers of a receiver: at least once, in order, through failures and
/// crashes.
///
/// ```swift
/// let service = PushService(receiver, [transport])
/// let report = try await service.run()
/// ```
///
/// A payload is put into the inbox when a transport hands it over; where the inbox is durable it is safe from then on,
/// and may be acknowledged. It then waits in a lane: messages of one object, topic or sender are handled one after
/// another, others side by side. Its turn come, it goes through the receiver's chain once, and its handlers run. One
/// that fails is run again after a growing pause, those that succeeded are not; after the last attempt the message is
/// put among the dead letters. It is gone from the inbox only when it has ended.
///
/// Promises:
/// - What a durable inbox has taken in is handled, or ends as one of the other outcomes; a crash loses nothing. What
///   was in flight when the process ended is run again, alone, before anything new is taken in; where it fails, also
///   its further attempts are made alone. What ends the process four times, but for the first time alone, is put among
///   the dead letters and not run a fifth time.
/// - A handler that succeeded does not run again for the message, but for those in flight at a crash: at most
///   ``ServiceSettings/inFlight`` messages, and what somebody releases by hand.
/// - It holds no more in memory than ``ServiceSettings`` say. What a durable inbox takes beyond that waits on disk, and
///   is read back in order; with an inbox in memory, transports wait while it is full. No route, bucket, topic, sender
///   or object uses more than a share of places and handlers.
/// - A store that fails is asked again, with growing pauses, and told of by ``onEvent(_:)``; until it is well, nothing
///   more is acknowledged. Nothing ends that the dead letters have no room for: a durable inbox keeps it, and of any
///   other the transport is told to bring it again. Only what is no push message, and came just now, is told of and let
///   go.
///
/// The guide *Delivery* says how to set it up, and what no client can repair.
public final class PushService: Sendable {
    /// The receiver whose chain and handlers it uses.
    public let receiver: PushReceiver

    let inbox: any Inbox
    let settings: ServiceSettings
    let jitter: @Sendable () -> Double
    private let executor: (any TaskExecutor)?
    let state: Mutex<ServiceState>
    let listeners = Mutex(Listeners<ServiceEvent>())

    var clock: any ReceiverClock { receiver.clock }

    /// Makes a service.
    ///
    /// - Parameters:
    ///   - receiver: the receiver whose chain and handlers it uses. What the service holds it drives too, so leave its
    ///     `run()` alone.
    ///   - transports: what brings payloads.
    ///   - inbox: what keeps them until they have ended; without one, memory.
    ///   - settings: how much it takes on at once.
    ///   - delivery: how messages are delivered whose route says nothing else.
    ///   - jitter: by how much a pause is made longer or shorter, from -1 to 1, of which a fifth counts.
    ///   - executor: runs every task of the service: its own, the transports' and the handlers'; nil is Swift's pool of
    ///     threads. A test passes one that runs the tasks in an order of its choice, so that a whole run follows from a
    ///     seed.
    public init(
        _ receiver: PushReceiver, _ transports: [any PushTransport], inbox: any Inbox = InMemoryInbox(),
        settings: ServiceSettings = .standard, delivery: DeliverySettings = DeliverySettings(),
        jitter: @escaping @Sendable () -> Double = { Double.random(in: -1...1) }, executor: (any TaskExecutor)? = nil
    ) {
        self.receiver = receiver
        self.inbox = inbox
        self.settings = settings
        state = Mutex(ServiceState(settings, delivery, transports, isDurable: inbox.isDurable))
        self.jitter = jitter
        self.executor = executor
    }

    /// Starts a task on the executor that was handed in, as every task of the service is started.
    @discardableResult
    func start(_ body: sending @escaping @isolated(any) () async -> Void) -> Task<Void, Never> {
        Task(executorPreference: executor, operation: body)
    }

    /// Changes the state, and does what follows from that: starts the deliveries whose turn it is, and lets those go on
    /// who wait for the change.
    func change<Answer: Sendable>(_ body: (inout ServiceState) -> Answer) -> Answer {
        let (answer, effects) = state.withLock { state in (body(&state), state.takeEffects()) }
        for delivery in effects.deliveries { start { await self.work(delivery) } }
        effects.sleep?.cancel()
        for waiter in effects.waiters { waiter.resume() }
        for action in effects.actions { action() }
        return answer
    }

    /// Does something on the executor that was handed in, with all that it starts.
    func onExecutor<Answer>(_ body: nonisolated(nonsending) () async throws -> Answer) async rethrows -> Answer {
        try await withTaskExecutorPreference(executor, operation: body)
    }

    /// Changes how messages are delivered whose route says nothing else, as when rules are loaded again.
    ///
    /// It counts for what is taken in from now on.
    public func setDelivery(_ settings: DeliverySettings) { change { $0.delivery = settings } }

    /// Calls `listener` with each event of the service and its transports; outcomes are reported by
    /// `PushReceiver.onTrace(_:)`.
    ///
    /// Several listeners, up to 64, are called one after the other, by the task that the event happened to; keep them
    /// short.
    ///
    /// - Parameter listener: called once for each event.
    /// - Returns: a token to remove the listener with; drop it to keep the listener.
    @discardableResult
    public func onEvent(_ listener: @escaping @Sendable (ServiceEvent) -> Void) -> ListenerToken {
        let number = listeners.withLock { $0.add(listener) }
        return ListenerToken { [weak self] in self?.listeners.withLock { $0.remove(number) } }
    }

    func tell(_ event: ServiceEvent) { listeners.withLock { $0.call }?(event) }

    /// What it has on its hands now.
    public var status: ServiceStatus {
        state.withLock { state in
            var status = ServiceStatus()
            status.waiting = state.lanes.count
            if case .next = state.alone { status.waiting += 1 }
            status.handling = state.runs.count - state.waitingRuns.count
            status.retrying = state.retries.count
            status.held = state.parked.count + state.copies.count
            status.messages = state.messages
            status.bytes = state.bytes
            status.onDisk = state.onDisk
            status.bytesOnDisk = state.spill.used.bytes
            status.overrunning = state.overrunning
            status.isOpen = state.phase == .open
            return status
        }
    }
}
