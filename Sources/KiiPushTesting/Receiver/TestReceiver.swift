public import KiiPush
public import KiiPushRules

/// A receiver on a clock that only the test advances, with a transport that delivers again what has to wait.
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
/// No real time passes and nothing runs in the background: when ``send(_:failing:)`` returns, the message has ended or
/// waits for its pace, and ``advance(by:)`` delivers it again when it is due. It does not wait for tasks that a
/// handler starts without waiting for them; a handler that sleeps on the clock waits until another task advances it.
public final class TestReceiver: Sendable {
    /// The receiver.
    public var receiver: PushReceiver { harness.receiver }

    /// The clock of the receiver and of its chain.
    public let clock: ManualClock

    private let harness: ReceiverHarness

    /// Wraps a receiver that was made with this clock.
    ///
    /// It adds its own listener, and keeps those of `PushReceiver.onTrace(_:)`.
    ///
    /// - Parameters:
    ///   - receiver: the receiver, with or without routes.
    ///   - clock: the receiver's clock.
    public init(_ receiver: PushReceiver, clock: ManualClock) {
        precondition(receiver.clock as? ManualClock === clock, "the receiver has another clock; make it with this one")
        self.clock = clock
        harness = ReceiverHarness(receiver, clock: clock)
    }

    /// Makes the receiver that a rules file describes, with a stand-in for each handler, program and print.
    ///
    /// The stand-ins succeed unless a test says otherwise; ``TestReceipt/handlers`` lists their names.
    ///
    /// - Parameters:
    ///   - rules: the rules, loaded at once.
    ///   - app: the app to serve instead of the file's; nil uses the file's.
    ///   - formats: the formats of other systems.
    ///   - clock: the clock.
    /// - Throws: `RulesError` if the rules cannot be loaded.
    public convenience init(
        rules: RoutingRules, app: String? = nil, formats: PayloadFormats = .shipped,
        clock: ManualClock = ManualClock()
    ) throws(RulesError) {
        let receiver = PushReceiver(rules: rules, app: app, formats: formats, clock: clock)
        try receiver.loadStandIns(rules)
        self.init(receiver, clock: clock)
    }

    // MARK: Sending

    /// Sends a payload, and returns when it and everything that it caused has ended or waits for its pace.
    ///
    /// - Parameters:
    ///   - payload: the payload; an undecodable one has an outcome too.
    ///   - handlers: the stand-ins that fail for this message, even if it has to wait first, by their names in rules,
    ///     or else the rule's id.
    /// - Returns: the result.
    @discardableResult
    public func send(_ payload: RawPayload, failing handlers: [String] = []) async -> TestReceipt {
        TestReceipt(await harness.send(payload, failing: handlers))
    }

    /// Sends a payload from a fixture.
    ///
    /// - Parameters:
    ///   - fixture: the payload.
    ///   - style: the key style.
    ///   - handlers: the stand-ins that fail for this message.
    /// - Returns: the result.
    @discardableResult
    public func send(
        _ fixture: PayloadFixture, as style: PayloadFixture.KeyStyle = .long, failing handlers: [String] = []
    ) async -> TestReceipt { await send(fixture.payload(style), failing: handlers) }

    // MARK: Time

    /// When the next message that waits for its pace is delivered again; nil if none waits.
    public var nextDue: MonotonicInstant? { harness.nextDue }

    /// Advances the clock, and delivers each message that waits again when it is due.
    ///
    /// - Parameter duration: by how much.
    /// - Returns: the messages that ended, in order.
    @discardableResult
    public func advance(by duration: Duration) async -> [TestReceipt] {
        await harness.advance(by: duration).map { TestReceipt($0) }
    }

    /// Sets a wall clock that is not yet set to a payload's sending time; call it just before sending the payload.
    package func startWallClock(with payload: RawPayload) { harness.startWallClock(with: payload) }
}
