public import KiiPush
public import KiiPushDelivery
import Synchronization

/// A service on a clock that only the test advances: retries, timeouts, dead letters and replays in no real time.
///
/// ```swift
/// let test = try TestService(receiver)
/// let receipt = try test.send(PayloadFixture.pushToUser(topic: "news").payload(.long))
/// #expect(receipt.outcome == nil)
/// test.advance(by: .milliseconds(200))
/// #expect(receipt.outcome?.name == "handled")
/// ```
///
/// The tasks of the service, and those of its handlers, run one at a time and inside of these calls, in an order that
/// the seed chooses: what holds for many seeds does not depend on the order. When a call returns, all of them wait for
/// time to pass. A handler that waits for something else, such as a thread, the main actor or the network, is not
/// waited for; it goes on in the first call after that. Use it from one task.
///
/// To test a restart, stop it and make another one with the same inbox, which must be durable: one in memory keeps no
/// payloads.
public final class TestService: Sendable {
    /// The service.
    public let service: PushService
    /// The clock of the service, its receiver and its chain.
    public let clock: ManualClock

    private let executor: SeededExecutor
    private let transport = TestTransport()
    private let task: Task<Void, Never>
    private let end = Promised<Result<DrainReport, any Error>>()

    /// Starts a service of a receiver, whose clock must be a ``ManualClock``.
    ///
    /// - Parameters:
    ///   - receiver: the receiver whose chain and handlers it uses.
    ///   - inbox: keeps payloads until they have ended; by default in memory.
    ///   - answers: deliver the answers to commands.
    ///   - settings: the bounds of the service.
    ///   - delivery: the settings for messages whose route has none; pauses between attempts are not made longer or
    ///     shorter.
    ///   - seed: chooses the order in which tasks run.
    /// - Throws: ``TestMistake`` if the receiver has another clock; the error of an inbox that cannot be read.
    public init(
        _ receiver: PushReceiver, inbox: any Inbox = InMemoryInbox(), answers: [any AnswerSender] = [],
        settings: ServiceSettings = .standard, delivery: DeliverySettings = DeliverySettings(), seed: UInt64 = 0
    ) throws {
        clock = try receiver.manualClock
        executor = SeededExecutor(seed: seed)
        let service = PushService(
            receiver, [transport], inbox: inbox, answers: answers, settings: settings, delivery: delivery,
            jitter: { 0 }, executor: executor)
        self.service = service
        let end = end
        task = executor.start {
            do { end.value = .success(try await service.run()) } catch { end.value = .failure(error) }
        }
        runTasks()
        if case .failure(let error) = end.value { throw error }
    }

    deinit {
        task.cancel()
        passTime { end.value != nil }
    }

    /// Submits a payload as a transport does, and returns when everything that it caused has ended or waits for time.
    ///
    /// - Returns: the receipt, whose outcome is nil while the message waits.
    /// - Throws: `IntakeRefusal`, as to a transport.
    @discardableResult
    public func send(_ payload: RawPayload) throws(IntakeRefusal) -> Receipt {
        guard let intake = transport.intake.value else { throw .stopping }
        let receipts = try intake.submit([payload])
        runTasks()
        return receipts[0]
    }

    /// Advances the clock, from one moment that a task waits for to the next.
    public func advance(by duration: Duration) {
        let end = clock.now.advanced(by: duration)
        while let next = clock.nextWake, next <= end { advance(to: next) }
        advance(to: end)
    }

    /// Runs an operation, such as `service.replay(_:)`, and advances the clock as far as it waits for that.
    ///
    /// - Throws: ``TestMistake`` if the operation waits for something else, such as a thread or the network.
    public func run<Success: Sendable>(
        _ operation: @escaping @Sendable () async -> Success
    ) throws(TestMistake) -> Success {
        let result = Promised<Success>()
        executor.start { result.value = await operation() }
        return try value(of: result, "the operation")
    }

    /// Stops the service, as a cancelled `run()` does, and advances the clock as far as running handlers need.
    ///
    /// - Throws: ``TestMistake`` if a handler waits for something else; what `PushService.run()` throws.
    @discardableResult
    public func stop() throws -> DrainReport {
        task.cancel()
        return try value(of: end, "the service").get()
    }

    // MARK: Time

    /// Passes time until a task has set a value.
    private func value<Value>(of promised: Promised<Value>, _ what: String) throws(TestMistake) -> Value {
        passTime { promised.value != nil }
        guard let value = promised.value else {
            let why = "waits for something else than time, such as a thread or the network"
            throw TestMistake(description: "\(what) \(why)")
        }
        return value
    }

    private func advance(to moment: MonotonicInstant) {
        clock.advance(by: max(.zero, clock.now.duration(to: moment)))
        runTasks()
    }

    /// Runs all tasks that can go on, and then advances the clock to what the others wait for, until a condition holds.
    private func passTime(until condition: () -> Bool) {
        runTasks()
        while !condition(), let next = clock.nextWake { advance(to: next) }
    }

    /// Runs all tasks that can go on.
    private func runTasks() {
        // More jobs than any test has; only tasks that never wait for time reach it.
        for _ in 0..<100_000_000 where !executor.runOne() { return }
        preconditionFailure("tasks go on for ever, and no time passes")
    }
}

/// A value that a task sets later.
private final class Promised<Value: Sendable>: Sendable {
    private let state = Mutex<Value?>(nil)

    var value: Value? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}

/// Gives out its intake until the service stops.
private final class TestTransport: PushTransport {
    let name = "test"
    let abilities: TransportAbilities = [.acknowledges, .refuses, .answers]
    let intake = Promised<PushIntake>()

    func run(_ intake: PushIntake) async throws {
        self.intake.value = intake
        // Nothing comes of it; its loop ends when the task is cancelled.
        let (stop, source) = AsyncStream<Never>.makeStream()
        for await _ in stop {}
        source.finish()
        self.intake.value = nil
    }
}
