public import KiiPush
import Synchronization

/// Delivers payloads from transports to the handlers of a receiver: at least once, in order, despite failures and
/// crashes.
///
/// ```swift
/// let service = PushService(receiver, [transport])
/// let report = try await service.run()
/// ```
///
/// A payload is stored in the inbox when a transport submits it. It then waits in a lane: messages of one object, topic
/// or sender are handled one after another, others concurrently. When its turn comes, it passes the receiver's chain,
/// and its handlers run; those that fail run again after a growing pause, and after the last attempt the message is
/// dead-lettered. It is removed from the inbox only when it has ended.
///
/// Guarantees:
/// - A message that a durable inbox has accepted is handled, or ends with one of the other outcomes; a crash loses
///   nothing. What was in flight at a crash runs again, alone and before all others; one with which the process ended
///   four times, the last time alone, is dead-lettered and not run a fifth time.
/// - A handler that succeeded does not run again for the same message, except for messages in flight at a crash: at
///   most ``ServiceSettings/inFlight``, and those that somebody replays.
/// - Its memory is bounded by ``ServiceSettings``, except for some 400 bytes for each message that waits in the inbox
///   for room among the dead letters; no route, bucket, topic or sender uses more than a share of it and of the
///   handlers. With a durable inbox, further payloads wait on disk; with one in memory, transports wait.
/// - A store that fails is tried again, with growing pauses, and reported to ``onEvent(_:)``; until it works, nothing
///   more is acknowledged. A message that does not fit into the dead-letter store does not end: a durable inbox keeps
///   it, and without one its transport is asked to deliver it again. Only new payloads that are not push messages are
///   reported and discarded.
///
/// The guide *Delivery* describes the set-up and the limits of any client.
public final class PushService: Sendable {
    /// The receiver whose chain and handlers it uses.
    public let receiver: PushReceiver

    let inbox: any Inbox
    let jitter: @Sendable () -> Double
    private let senders: Mutex<AnswerSenders>
    let abilities: [TransportAbilities]
    let executor: (any TaskExecutor)?
    let state: Mutex<ServiceState>
    let listeners = Listeners<ServiceEvent>()
    /// Whether the state has failures, so that calls that succeed need no lock.
    let isFailing = Atomic<Bool>(false)

    var clock: any ReceiverClock { receiver.clock }
    var isDurable: Bool { inbox.isDurable }
    /// Who delivers answers; nobody after it has run.
    var answerSenders: AnswerSenders { senders.withLock { $0 } }

    /// Makes a service.
    ///
    /// - Parameters:
    ///   - receiver: the receiver whose chain and handlers it uses.
    ///   - transports: deliver payloads.
    ///   - inbox: keeps payloads until they have ended; by default in memory.
    ///   - answers: deliver answers to commands, besides those transports that can.
    ///   - settings: the bounds of the service.
    ///   - delivery: the settings for messages whose route has none.
    ///   - jitter: makes a pause longer or shorter, from -1 to 1, of which a fifth is applied.
    ///   - executor: runs the tasks of the service, the transports and the handlers; nil is Swift's thread pool. A test
    ///     passes one that chooses their order from a seed.
    public init(
        _ receiver: PushReceiver, _ transports: [any PushTransport], inbox: any Inbox = InMemoryInbox(),
        answers: [any AnswerSender] = [], settings: ServiceSettings = .standard,
        delivery: DeliverySettings = DeliverySettings(),
        jitter: @escaping @Sendable () -> Double = { Double.random(in: -1...1) }, executor: (any TaskExecutor)? = nil
    ) {
        self.receiver = receiver
        self.inbox = inbox
        senders = Mutex(AnswerSenders(answers + transports.compactMap { $0 as? any AnswerSender }))
        abilities = transports.map(\.abilities)
        state = Mutex(ServiceState(settings, delivery, transports, isDurable: inbox.isDurable))
        self.jitter = jitter
        self.executor = executor
    }

    /// Releases those who deliver answers: one may be a transport that keeps its intake, which keeps the service.
    func releaseAnswerSenders() { senders.withLock { $0 = AnswerSenders([]) } }

    /// Starts a task of the service on its executor.
    @discardableResult
    func start(_ body: sending @escaping @isolated(any) () async -> Void) -> Task<Void, Never> {
        Task(executorPreference: executor, operation: body)
    }

    /// Changes the state, and then starts the deliveries whose turn it is and resumes waiters.
    func change<Answer: Sendable>(_ body: (inout ServiceState) -> Answer) -> Answer {
        let (answer, effects) = state.withLock { state in (body(&state), state.takeEffects { clock.now }) }
        for delivery in effects.deliveries { start { await self.work(delivery) } }
        if let tickets = effects.unread { start { await self.read(tickets) } }
        for action in effects.actions { action() }
        return answer
    }

    /// Changes the delivery settings of messages whose route has none, for example when rules are reloaded.
    ///
    /// It applies to messages that are accepted from now on; the timeout and the maximum age, to handlers that begin
    /// from now on.
    public func setDelivery(_ settings: DeliverySettings) { change { $0.delivery = settings } }

    /// Calls `listener` with each event of the service and its transports; outcomes are reported by
    /// `PushReceiver.onTrace(_:)`.
    @discardableResult
    public func onEvent(_ listener: @escaping @Sendable (ServiceEvent) -> Void) -> ListenerToken {
        listeners.add(listener)
    }

    func tell(_ event: ServiceEvent) { listeners.call(event) }

    /// The current state of the service.
    public var status: ServiceStatus {
        state.withLock { state in
            var status = ServiceStatus()
            let room = state.room
            status.waiting = room.count
            status.handling = state.runs.values.count { $0.deadline != nil }
            status.paced = room.later.count { $0.delivery.isPaced }
            status.retrying = room.later.count - status.paced
            status.recovering = state.recovering
            let (memory, disk) = (room.memory.used + -room.reading, room.disk.used + room.reading)
            (status.messages, status.bytes) = (memory.messages, memory.bytes)
            (status.onDisk, status.bytesOnDisk) = (disk.messages, disk.bytes)
            if state.phase == .stopped, isDurable { status.onDisk = state.report.left }
            status.overrunning = state.overrunning
            status.gaps = state.gaps.all
            status.isOpen = state.phase == .open && state.failures[.adding] == nil
            status.failures = state.failures.sorted { $0.key < $1.key }.map(\.value)
            return status
        }
    }
}
