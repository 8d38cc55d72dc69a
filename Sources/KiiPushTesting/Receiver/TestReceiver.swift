public import KiiPush
public import KiiPushRules

/// A receiver on a clock that only the test turns: what is sent has come to its end when `send` returns.
///
/// ```swift
/// let test = try TestReceiver(rules: rules)
/// let push = PayloadFixture.pushToApp(bucket: "settings").payload(.long)
/// let first = await test.send(push)
/// #expect(first.handlers == ["reload"] && first.settled.disposition == .accept)
/// #expect(await test.send(push).outcome.description == "duplicate (done)")
/// await test.advance(by: .seconds(601))
/// #expect(await test.send(push).outcome.name == "handled")
/// ```
///
/// No real time passes and nothing runs behind the test's back: held messages are handled inside of
/// ``send(_:failing:)`` and ``advance(by:)``, when their turn has come. Work that a handler leaves to a task of its
/// own, and does not wait for, is not waited for here either; a handler that sleeps on the clock waits until another
/// task turns it.
public final class TestReceiver: Sendable {
    /// The receiver.
    public var receiver: PushReceiver { harness.receiver }

    /// The clock of the receiver and of its chain.
    public let clock: ManualClock

    private let harness: ReceiverHarness

    /// Wraps a receiver that was made with this clock.
    ///
    /// It adds a listener of its own, and leaves those of `PushReceiver.onTrace(_:)` alone, added before or after.
    ///
    /// - Parameters:
    ///   - receiver: the receiver, with its routes or before they are declared.
    ///   - clock: the clock that it was made with.
    public init(_ receiver: PushReceiver, clock: ManualClock) {
        precondition(receiver.clock as? ManualClock === clock, "the receiver has another clock; make it with this one")
        self.clock = clock
        harness = ReceiverHarness(receiver, clock: clock) { InjectedFailure(handler: $0) }
    }

    /// Makes the receiver that a rules file asks for, with a stand-in for each handler, each program and the printing.
    ///
    /// The stand-ins succeed unless a test says otherwise; ``TestReceipt/handlers`` has their names.
    ///
    /// - Parameters:
    ///   - rules: the rules, loaded at once.
    ///   - app: the app that is served instead of the file's; nil takes that.
    ///   - clock: the clock.
    /// - Throws: `RulesError` when the rules cannot be loaded.
    public convenience init(
        rules: RoutingRules, app: String? = nil, clock: ManualClock = ManualClock()
    ) throws(RulesError) {
        let receiver = PushReceiver(rules: rules, app: app, clock: clock)
        try receiver.loadStandIns(rules)
        self.init(receiver, clock: clock)
    }

    // MARK: Sending

    /// Sends a payload, and returns when it and all that it caused has ended or is held.
    ///
    /// - Parameters:
    ///   - payload: the payload; what does not decode has an outcome like any other.
    ///   - handlers: the handlers that fail with this message, also when it is held first: stand-ins, and those of
    ///     your own that call ``InjectedFailure/point(_:name:)``.
    /// - Returns: what became of it.
    @discardableResult
    public func send(_ payload: RawPayload, failing handlers: FailingHandlers = .none) async -> TestReceipt {
        TestReceipt(await harness.send(payload, failing: handlers.names))
    }

    /// Sends a payload in the making.
    ///
    /// - Parameters:
    ///   - fixture: the payload.
    ///   - style: the keys that it is written with.
    ///   - handlers: the handlers that fail with this message.
    /// - Returns: what became of it.
    @discardableResult
    public func send(
        _ fixture: PayloadFixture, as style: PayloadFixture.KeyStyle = .long, failing handlers: FailingHandlers = .none
    ) async -> TestReceipt { await send(fixture.payload(style), failing: handlers) }

    // MARK: Time

    /// Turns the clock on, and handles each held message whose turn comes at its own time.
    ///
    /// - Parameter duration: how far.
    /// - Returns: the held messages that ended, in order.
    @discardableResult
    public func advance(by duration: Duration) async -> [TestReceipt] {
        await harness.advance(by: duration).map { TestReceipt($0) }
    }

    /// Turns the clock on all at once, as when a device wakes: what should have been handled meanwhile is handled now.
    ///
    /// - Parameter duration: how far.
    /// - Returns: the held messages that ended, in order.
    @discardableResult
    public func jump(by duration: Duration) async -> [TestReceipt] {
        let ended = await harness.released {
            clock.advance(by: duration)
            await receiver.handleDue()
        }
        return ended.map { TestReceipt($0) }
    }

    /// Switches a target off, and puts what is held of it aside at once.
    ///
    /// - Parameters:
    ///   - target: the route, the bucket, or everything.
    ///   - duration: for how long; for as long as the test lasts when it is left out.
    /// - Returns: the held messages that ended by it, in order.
    @discardableResult
    public func kill(_ target: KillTarget, for duration: Duration = .nanoseconds(Int64.max)) async -> [TestReceipt] {
        await harness.kill(target, for: duration).map { TestReceipt($0) }
    }

    /// Sets a wall clock that nobody has set to the time at which a payload says that it was sent; call it just before
    /// the payload is sent.
    package func startWallClock(with payload: RawPayload) { harness.startWallClock(with: payload) }
}
