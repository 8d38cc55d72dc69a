import KiiPushTesting
import Synchronization

@testable import KiiPush
@testable import KiiPushDelivery

/// A transport that a test holds in its hand: it gives out its intake and returns when the test says so.
final class HandTransport: PushTransport {
    let name = "hand"
    let abilities: TransportAbilities = [.acknowledges, .refuses]
    private let given = Mutex<PushIntake?>(nil)
    private let (isOpen, isOver) = (Gate(), Gate())

    func run(_ intake: PushIntake) async throws {
        given.withLock { $0 = intake }
        isOpen.open()
        await withTaskCancellationHandler {
            await isOver.wait()
        } onCancel: {
            finish()
        }
    }

    /// The intake, once the service is open.
    func intake() async -> PushIntake {
        await isOpen.wait()
        guard let intake = given.withLock({ $0 }) else { fatalError("the test has let go of it") }
        return intake
    }

    /// Lets go of the intake.
    func forget() { given.withLock { $0 = nil } }

    /// Lets it return: it has no more payloads.
    func finish() { isOver.open() }
}

/// A transport that does what a test says, and returns.
struct ScriptedTransport: PushTransport {
    var name = "scripted"
    var abilities: TransportAbilities = []
    let body: @Sendable (PushIntake) async throws -> Void

    func run(_ intake: PushIntake) async throws { try await body(intake) }
}

/// Lets other tasks run until a condition holds.
///
/// - Throws: when it does not for as long as ``Patience`` lasts.
func until(_ condition: () -> Bool) async throws {
    var patience = Patience()
    while !condition() { try await patience.yield() }
}

/// How long a test lets other tasks run: a minute, and a hundred thousand turns, since on a busy machine, or under a
/// sanitizer, the others have theirs as seldom.
struct Patience {
    private let end = ContinuousClock.now.advanced(by: .seconds(60))
    private var turns = 0

    /// Lets other tasks run once.
    mutating func yield() async throws {
        guard ContinuousClock.now < end || turns < 100_000 else { throw NeverHeld() }
        turns += 1
        await Task.yield()
    }
}

/// A condition that a test waits for did not come to hold.
struct NeverHeld: Error {}

/// A durable inbox whose disk outlives it: it takes down what it is told, fails when a test says so, and can crash.
final class SpyInbox: Inbox {
    /// What survives the process.
    final class Disk: Sendable {
        fileprivate let state = Mutex(InboxTable())

        var isEmpty: Bool { state.withLock { $0.rows.isEmpty } }
        var hasAnswers: Bool { state.withLock { $0.hasAnswers } }
        var rows: [UInt64: InboxTable.Row] { state.withLock { $0.rows } }
        /// The numbers of the payloads that have not ended, in order.
        var numbers: [UInt64] { rows.keys.sorted() }
        var inFlight: [UInt64] { rows.filter(\.value.isInFlight).keys.sorted() }
    }

    /// A call fails, or the process has ended.
    struct Failed: Error {}

    let isDurable = true
    let disk: Disk
    /// `add 2`, `begun 1 (1)`, `failed 1 [r]`, `ended 1`, `entries`, `read 2`, the notes of one call behind each other;
    /// those that failed too, with a question mark.
    let log = EventLog()
    private let calls = Atomic<Int>(0)
    private let hasCrashed = Flag()
    private let fails: Mutex<@Sendable (_ call: Int, _ what: String) -> Bool>
    /// Whether it keeps a log; not for a million messages.
    private let isLogging: Bool

    init(
        _ disk: Disk = Disk(), isLogging: Bool = true,
        fails: @escaping @Sendable (_ call: Int, _ what: String) -> Bool = { _, _ in false }
    ) {
        self.disk = disk
        self.isLogging = isLogging
        self.fails = Mutex(fails)
    }

    /// How often it was called.
    var count: Int { calls.load(ordering: .relaxed) }

    /// Lets calls fail from now on, or none.
    func fail(_ fails: @escaping @Sendable (_ call: Int, _ what: String) -> Bool) { self.fails.withLock { $0 = fails } }

    /// Ends the process, as far as the inbox sees: nothing is written any more.
    func crash() { hasCrashed.set() }

    var isCrashed: Bool { hasCrashed.isSet }

    private func call(_ what: @autoclosure () -> String) throws {
        let number = calls.add(1, ordering: .relaxed).newValue
        if hasCrashed.isSet { throw Failed() }
        guard isLogging else { return }
        let what = what()
        let fails = fails.withLock { $0 }(number, what)
        log.add(fails ? "\(what)?" : what)
        if fails { throw Failed() }
    }

    func add(_ payloads: [RawPayload]) throws -> [UInt64] {
        try call("add \(payloads.count)")
        return disk.state.withLock { disk in payloads.map { disk.add($0) } }
    }

    func record(_ records: [InboxRecord]) async throws {
        try call(records.map(Self.words).joined(separator: ", "))
        disk.state.withLock { disk in
            for record in records { disk.record(record) }
        }
    }

    private static func words(_ record: InboxRecord) -> String {
        switch record {
        case .begun(let id, let attempt): "begun \(id) (\(attempt))"
        case .failed(let id, let handled, _): "failed \(id) [\(handled.joined(separator: " "))]"
        case .answer(let answer): "answer \(answer.id) (\(answer.answer.status))"
        case .ended(let id): "ended \(id)"
        case .answered(let id): "answered \(id)"
        }
    }

    func check() throws {
        let number = calls.add(1, ordering: .relaxed).newValue
        if hasCrashed.isSet || fails.withLock({ $0 })(number, "check") { throw Failed() }
    }

    func entries(after id: UInt64, limit: Int) throws -> [InboxEntry] {
        if id == 0 { try call("entries") }
        return disk.state.withLock { $0.entries(after: id, limit: limit) }
    }

    func entries(of ids: [UInt64]) throws -> [InboxEntry] {
        try call("read \(ids.count)")
        return disk.state.withLock { $0.entries(of: ids) }
    }

    func answers(of sender: String, limit: Int) throws -> [UnsentAnswer] {
        if hasCrashed.isSet || fails.withLock({ $0 })(0, "answers") { throw Failed() }
        return disk.state.withLock { $0.answers(of: sender, limit: limit) }
    }
}

/// A service with all that can be seen of it; its handlers do what a test says.
struct ServiceBench {
    typealias Act = @Sendable (PushMessage, HandlerContext) async throws -> Void

    let clock: ManualClock
    let receiver: PushReceiver
    let loopGuard: LoopGuard
    let letters: InMemoryDeadLetterStore
    let transport = HandTransport()
    let service: PushService
    /// What the handlers were called with: the route and the message's number.
    let log = EventLog()
    /// What the service told.
    let told = EventLog()

    /// Makes one whose routes each let the next ones take the message too, and whose handlers `act` once they are taken
    /// down; if it `isPaced`, its routes have a pace of their own, else the loop guard lets nothing wait.
    init(
        routes: [(id: String, delivery: DeliverySettings?)] = [("r", nil)], inbox: any Inbox = InMemoryInbox(),
        settings: ServiceSettings = .standard, delivery: DeliverySettings = DeliverySettings(), isPaced: Bool = false,
        letters: InMemoryDeadLetterStore = InMemoryDeadLetterStore(), store: any SeenStore = InMemorySeenStore(),
        limits: PayloadLimits = .standard, clock: ManualClock = ManualClock(), transports: [any PushTransport] = [],
        answers: [any AnswerSender] = [],
        executor: (any TaskExecutor)? = OwnThreads.executor, act: @escaping Act = { _, _ in }
    ) {
        self.clock = clock
        self.letters = letters
        var loop = LoopSettings()
        if !isPaced { loop.layers.remove(.pace) }
        let loopGuard = LoopGuard(settings: loop, clock: clock)
        self.loopGuard = loopGuard
        receiver = PushReceiver(app: "0123abcd", limits: limits, clock: clock, deadLetters: letters) {
            Deduplicator(store: store, secret: .published, onStoreFailure: .failClosed, clock: clock)
            loopGuard
        }
        let log = log
        for route in routes {
            receiver.onAny(
                id: route.id,
                options: RouteOptions(
                    then: .continue, pace: isPaced ? .every(.seconds(6)) : .standard, delivery: route.delivery)
            ) { message, context in
                log.add("\(context.route) \(message.number)")
                try await act(message, context)
            }
        }
        service = PushService(
            receiver, [transport] + transports, inbox: inbox, answers: answers, settings: settings, delivery: delivery,
            jitter: { 0 },
            executor: executor)
        let told = told
        service.onEvent { event in told.add("\(event)") }
    }

    /// Runs it, and waits until it is open.
    func open() async -> (intake: PushIntake, run: Task<DrainReport, any Error>) {
        let run = OwnThreads.start { try await service.run() }
        return (await transport.intake(), run)
    }

    /// The same, for one that is made just for that.
    func opened() async -> (bench: ServiceBench, intake: PushIntake, run: Task<DrainReport, any Error>) {
        let (intake, run) = await open()
        return (self, intake, run)
    }

    /// Lets the transport end, and waits for the report.
    func close(_ run: Task<DrainReport, any Error>) async throws -> DrainReport {
        transport.finish()
        return try await run.value
    }

    /// Adds a dead letter of the route `r`.
    func addLetter(_ payload: RawPayload = Self.payload(1)) throws -> DeadLetter {
        var letter = DeadLetter(payload: payload, reason: .failed, routes: ["r"], arrivedAt: clock.now)
        letter.id = try letters.add(letter)
        return letter
    }

    /// Waits until so many handlers have been called.
    func calls(_ count: Int) async throws { try await until { log.events.count >= count } }

    /// Lets time pass, from one thing that waits for it to the next, until a condition holds.
    func passTime(_ condition: () -> Bool) async throws {
        var patience = Patience()
        while !condition() {
            for _ in 0..<20 where !condition() { try await patience.yield() }
            // Rather than what is due in so long, something is still at work.
            if let next = clock.nextWake, next > clock.now.advanced(by: .seconds(1200)) {
                for _ in 0..<5000 where !condition() { try await patience.yield() }
                if condition() { return }
            }
            if let next = clock.nextWake, next > clock.now { clock.advance(by: clock.now.duration(to: next)) }
        }
    }

    static func payload(
        _ number: Int, _ object: String? = "o", bucket: String = "settings", sender: String? = nil,
        event: KiiEvent = .objectUpdated
    ) -> RawPayload {
        PayloadFixture.pushToApp(
            bucket: bucket, object: object, event: event, sender: sender, sentAt: 1_000_000 + Int64(number),
            modifiedAt: Int64(number)
        ).payload(.long)
    }

    static func topic(_ number: Int, _ topic: String, sender: String?) -> RawPayload {
        PayloadFixture.pushToUser(topic: topic, sender: sender, sentAt: 1_000_000 + Int64(number)).payload(.long)
    }
}

extension DeliverySettings {
    /// The standard ones, changed.
    static func with(_ change: (inout DeliverySettings) -> Void) -> DeliverySettings {
        var settings = DeliverySettings()
        change(&settings)
        return settings
    }
}

extension ServiceSettings {
    /// The standard ones, changed.
    static func with(_ change: (inout ServiceSettings) -> Void) -> ServiceSettings {
        var settings = ServiceSettings()
        change(&settings)
        return settings
    }
}

extension DrainReport {
    init(finished: Int, left: Int) {
        self.init()
        (self.finished, self.left) = (finished, left)
    }
}

extension InMemoryDeadLetterStore {
    /// A store for one letter, which it has: number 1.
    static func full() throws -> InMemoryDeadLetterStore {
        let store = InMemoryDeadLetterStore(capacity: 1)
        _ = try store.add(
            DeadLetter(payload: RawPayload("x"), reason: .undecodable, routes: [], arrivedAt: .seconds(0)))
        return store
    }
}

extension PushMessage {
    /// The number that a bench gave it.
    var number: Int { Int((sentAt ?? 0) - 1_000_000) }
}

extension Receipt {
    /// How it has ended, in words; `open` while it has not.
    var word: String { isOver ? outcome?.description ?? "left" : "open" }

    private var isOver: Bool {
        let isOver = Flag()
        onEnd { _ in isOver.set() }
        return isOver.isSet
    }
}

extension [Receipt] {
    /// How all of them ended.
    func words() async -> [String] {
        var words: [String] = []
        for receipt in self { words.append(await receipt.end()?.description ?? "left") }
        return words
    }
}

/// A seen store that is closed for as long as a test says.
final class ClosableStore: SeenStore {
    let isClosed = Flag()
    private let store = InMemorySeenStore()

    private func check() throws { if isClosed.isSet { throw TestError() } }

    func begin(_ keys: DedupeKeys, now: MonotonicInstant) throws -> SeenState {
        try check()
        return store.begin(keys, now: now)
    }

    func commit(_ lease: SeenLease, now: MonotonicInstant) throws {
        try check()
        store.commit(lease, now: now)
    }

    func release(_ lease: SeenLease) throws {
        try check()
        store.release(lease)
    }
}
