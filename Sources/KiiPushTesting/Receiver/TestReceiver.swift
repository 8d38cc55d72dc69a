public import KiiPush
public import KiiPushRules

/// A receiver on a clock that only the test advances, with a transport that delivers again what has to wait.
///
/// ```swift
/// let test = try TestReceiver(rules: rules)
/// let push = PayloadFixture.pushToApp(bucket: "settings").payload(.long)
/// let first = await test.send(push)
/// #expect(first.handlers == ["reload"] && first.outcome.disposition == .accept)
/// #expect(await test.send(push).outcome.description == "duplicate (done)")
/// await test.advance(by: .seconds(601))
/// #expect(await test.send(push).outcome.name == "handled")
/// ```
///
/// No real time passes and nothing runs in the background: when ``send(_:)`` returns, the message has ended or
/// waits for its pace, and ``advance(by:)`` delivers it again when it is due. It does not wait for tasks that a
/// handler starts without waiting for them; a handler that sleeps on the clock waits until another task advances it.
public final class TestReceiver: Sendable {
    /// The receiver.
    public var receiver: PushReceiver { harness.receiver }

    /// The clock of the receiver and of its chain.
    public let clock: ManualClock

    private let harness: ReceiverHarness
    private let standIns: [String]

    /// Wraps a receiver, whose clock must be a ``ManualClock``.
    ///
    /// It adds its own listener, and keeps those of `PushReceiver.onTrace(_:)`.
    ///
    /// - Throws: ``TestMistake`` if the receiver has another clock.
    public convenience init(_ receiver: PushReceiver) throws(TestMistake) {
        self.init(receiver, try receiver.manualClock)
    }

    package init(_ receiver: PushReceiver, _ clock: ManualClock, standIns: [String] = []) {
        (self.clock, self.standIns) = (clock, standIns)
        harness = ReceiverHarness(receiver, clock: clock)
    }

    /// Makes the receiver that a rules file describes, with a stand-in for each program, print, cloud action, and
    /// handler that is not registered.
    ///
    /// The stand-ins succeed unless a test says otherwise; ``TestReceipt/handlers`` lists their names.
    ///
    /// - Parameters:
    ///   - rules: the rules.
    ///   - app: the app to serve instead of the file's; nil uses the file's.
    ///   - formats: the formats of other systems.
    ///   - clock: the clock of the receiver and of its chain.
    ///   - register: registers handlers and routes of your own, as the program does before it loads the rules.
    /// - Throws: `RulesError` if the rules cannot be loaded.
    public convenience init(
        rules: RoutingRules, app: String? = nil, formats: PayloadFormats = .shipped,
        clock: ManualClock = ManualClock(), register: (PushReceiver) -> Void = { _ in }
    ) throws(RulesError) {
        let receiver = PushReceiver(rules: rules, app: app, formats: formats, clock: clock)
        register(receiver)
        let standIns = try receiver.loadStandIns(rules)
        self.init(receiver, clock, standIns: standIns)
    }

    // MARK: Sending

    /// Sends a payload, and returns when it and everything that it caused has ended or waits for its pace.
    ///
    /// An undecodable payload has an outcome too.
    @discardableResult
    public func send(_ payload: RawPayload) async -> TestReceipt { TestReceipt(await harness.send(payload)) }

    /// Sends a payload from a fixture.
    @discardableResult
    public func send(_ fixture: PayloadFixture, as style: PayloadFixture.KeyStyle = .long) async -> TestReceipt {
        await send(fixture.payload(style))
    }

    /// Sends a payload for which the stand-ins with these names fail, even if it has to wait first; the stand-in of a
    /// rule without a handler has the rule's id.
    ///
    /// - Throws: ``TestMistake`` if there is no such stand-in, since the test would pass for the wrong reason.
    @discardableResult
    public func send(_ payload: RawPayload, failing handlers: [String]) async throws(TestMistake) -> TestReceipt {
        if let name = handlers.first(where: { !standIns.containsExactly($0) }) {
            let what = Suggestion.unknown("stand-in", name, known: standIns)
            throw TestMistake(description: "`failing` is for stand-ins; a handler of your own throws itself: \(what)")
        }
        return TestReceipt(await harness.send(payload, failing: handlers))
    }

    // MARK: Time

    /// When the next message that waits for its pace is delivered again; nil if none waits.
    public var nextDue: MonotonicInstant? { harness.nextDue }

    /// Advances the clock, delivers each message that waits again when it is due, and returns those that ended, in
    /// order.
    @discardableResult
    public func advance(by duration: Duration) async -> [TestReceipt] {
        await harness.advance(by: duration).map { TestReceipt($0) }
    }

    /// Sets a wall clock that is not yet set to a payload's sending time; call it just before sending the payload.
    package func startWallClock(with payload: RawPayload) { harness.startWallClock(with: payload) }
}

/// The result of one payload that a test sent, complete with everything that it caused.
public struct TestReceipt: Sendable {
    private let ended: ReceiverHarness.Ended

    init(_ ended: ReceiverHarness.Ended) { self.ended = ended }

    /// Its outcome; `paced` if it has to wait, and then a receipt of ``TestReceiver/advance(by:)`` has the final one.
    public var outcome: Outcome { trace.outcome }

    /// The ids of the matching routes, in order, also for a message that a middleware dropped.
    public var routes: [String] { trace.routes }

    /// The handlers that were called, in order, failed ones included: by their names in rules, or else by their routes'
    /// ids.
    public var handlers: [String] { trace.handlers }

    /// The rules' cloud actions that were simulated, in order; a test calls no cloud.
    public var cloud: [CloudAction] { ended.cloud }

    /// What the sender of a command gets; nil for other messages, for a duplicate, and for one that has to wait.
    public var answer: Answer? { ended.answer }

    /// The number of the message's first delivery, if it had to wait; that of this one is in the trace.
    public var first: UInt64? { ended.first }

    /// Each stage's result; the times are those of the test's clock.
    public var trace: Trace { ended.trace }

    /// The receipts of other messages that ended in between, in order: those that handlers sent to the receiver.
    public var caused: [TestReceipt] { ended.caused.map { TestReceipt($0) } }
}

extension RoutedMessage {
    /// Makes a message inside a chain, to test a middleware alone, without a receiver.
    ///
    /// ```swift
    /// var first = try RoutedMessage(forTesting: .pushToUser(sender: "chatty"), id: 1)
    /// #expect(quota.admit(&first) == .pass)
    /// quota.settle(first, .failed(at: "news", Unreachable()))
    /// ```
    ///
    /// Give each message another number, as a receiver does, and the ids of the matching routes in order of
    /// declaration.
    ///
    /// - Throws: `DecodeError` if the payload is not a push message.
    public init(
        forTesting fixture: PayloadFixture, as style: PayloadFixture.KeyStyle = .long, id: UInt64 = 1,
        arrivedAt: MonotonicInstant = MonotonicInstant(nanoseconds: 0), app: String? = nil, routes: [String] = []
    ) throws(DecodeError) {
        let message = try PushMessage(fixture.payload(style))
        let routes = routes.map {
            Route(id: $0, criteria: RouteCriteria(), options: .continue, handler: .any { _, _ in })
        }
        self.init(message, id: id, arrivedAt: arrivedAt, app: app, match: RouteMatch(MatchedRoutes(routes)))
    }
}

extension Outcome {
    /// Makes the outcome `failed` of a message that no route has handled, for a middleware's `settle`.
    public static func failed(at route: String, _ error: any Error) -> Outcome { .failure(of: route, error) }
}
