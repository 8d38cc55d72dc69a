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
    public let receiver: PushReceiver

    /// The clock of the receiver and of its chain.
    public let clock: ManualClock

    private let failures = PlannedFailures()

    /// Wraps a receiver that was made with this clock.
    ///
    /// It adds a listener of its own, and leaves those of ``PushReceiver/onTrace(_:)`` alone, added before or after.
    ///
    /// - Parameters:
    ///   - receiver: the receiver, with its routes or before they are declared.
    ///   - clock: the clock that it was made with.
    public init(_ receiver: PushReceiver, clock: ManualClock) {
        precondition(receiver.clock as? ManualClock === clock, "the receiver has another clock; make it with this one")
        self.receiver = receiver
        self.clock = clock
        receiver.onTrace { trace in TestWork.current?.add(trace) }
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

    /// Makes a receiver of rules that another one has loaded with stand-ins.
    convenience init(rules: RoutingRules, routesOf other: PushReceiver) {
        let clock = ManualClock()
        let receiver = PushReceiver(rules: rules, clock: clock)
        receiver.takeRoutes(of: other)
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
        var id: UInt64?
        let work = TestWork(failures)
        await TestWork.$current.withValue(work) {
            _ = await receiver.receive(payload) { number in
                id = number
                failures.plan(number, handlers)
            }
            await receiver.handleDue()
        }
        let traces = work.traces
        // What does not decode causes nothing: its trace is the only one.
        guard let own = traces.firstIndex(where: { id == nil || $0.messageID == id }) else {
            preconditionFailure("the receiver made no trace of the payload")
        }
        let receipt = TestReceipt(traces[own], caused: Array(traces[..<own] + traces[(own + 1)...]))
        forgetFailures(of: [receipt] + receipt.caused)
        return receipt
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
        let end = clock.now.advanced(by: duration)
        return await released {
            while let due = receiver.loopGuard?.nextDue, due <= end {
                if due > clock.now { clock.advance(by: clock.now.duration(to: due)) }
                let outcomes = await receiver.handleDue()
                // Nothing ended and nothing moved: what is due belongs to another receiver of the guard.
                if outcomes.isEmpty, receiver.loopGuard?.nextDue == due { break }
            }
            clock.advance(by: max(clock.now.duration(to: end), .zero))
        }
    }

    /// Turns the clock on all at once, as when a device wakes: what should have been handled meanwhile is handled now.
    ///
    /// - Parameter duration: how far.
    /// - Returns: the held messages that ended, in order.
    @discardableResult
    public func jump(by duration: Duration) async -> [TestReceipt] {
        await released {
            clock.advance(by: duration)
            await receiver.handleDue()
        }
    }

    /// Switches a target off, and puts what is held of it aside at once.
    ///
    /// - Parameters:
    ///   - target: the route, the bucket, or everything.
    ///   - duration: for how long; for as long as the test lasts when it is left out.
    /// - Returns: the held messages that ended by it, in order.
    @discardableResult
    public func kill(_ target: KillTarget, for duration: Duration = .nanoseconds(Int64.max)) async -> [TestReceipt] {
        await released { receiver.loopGuard?.kill(target, for: duration) }
    }

    private func released(_ body: () async -> Void) async -> [TestReceipt] {
        let work = TestWork(failures)
        await TestWork.$current.withValue(work) { await body() }
        let receipts = work.traces.map { TestReceipt($0) }
        forgetFailures(of: receipts)
        return receipts
    }

    private func forgetFailures(of receipts: [TestReceipt]) {
        guard !failures.isEmpty else { return }
        let held = Set(receiver.held.map(\.messageID))
        for receipt in receipts where !held.contains(receipt.trace.messageID) {
            failures.forget(receipt.trace.messageID)
        }
    }
}
