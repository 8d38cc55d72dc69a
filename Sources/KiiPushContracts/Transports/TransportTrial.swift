import KiiPush
import KiiPushDelivery
import Synchronization

/// A test case for one guarantee of a transport, which runs until the test case ends.
final class TransportTrial: Sendable {
    let bench: any TransportBench
    let intake: TrialIntake
    private let report: @Sendable (_ what: String) -> Void
    private let patience: Duration
    private let run = Mutex<Attempt?>(nil)
    private let isCancelled = Mutex(false)

    init(
        _ bench: any TransportBench, isDurable: Bool, patience: Duration,
        report: @escaping @Sendable (_ what: String) -> Void
    ) {
        self.bench = bench
        self.patience = patience
        self.report = report
        intake = TrialIntake(isDurable: isDurable)
    }

    /// Reports that the guarantee is broken, and how; and if the transport has ended by itself, since that may be why.
    func fail(_ what: String) {
        switch outcome {
        case .failure(let error): report("\(what); its run threw \(error)")
        case .success where !isCancelled.withLock { $0 }: report("\(what); its run has returned")
        case nil, .success: report(what)
        }
    }

    /// Waits for a condition, up to the test case's time limit; returns whether it became true.
    func comes(_ condition: () throws -> Bool) async rethrows -> Bool {
        try await KiiPushContracts.comes(within: patience, condition)
    }

    /// Expects that the transport submits a payload that is refused; returns whether it did.
    func expectTry() async -> Bool {
        let hasTried = await comes { intake.refusals > 0 }
        if !hasTried { fail("it handed nothing over") }
        return hasTried
    }

    // MARK: Running

    func start() {
        let (transport, intake) = (bench.transport, intake.intake(for: bench.transport.name))
        let attempt = Attempt { do { try await transport.run(intake) } catch IntakeRefusal.stopping {} }
        run.withLock { $0 = attempt }
    }

    /// Cancels the transport's task.
    func cancel() {
        isCancelled.withLock { $0 = true }
        run.withLock { $0 }?.cancel()
    }

    /// How `run` ended; nil before that.
    private var outcome: Result<Void, any Error>? { run.withLock { $0 }?.end }

    var hasEnded: Bool { outcome != nil }

    /// Expects that `run` returns within a time limit.
    func expectReturn(_ when: String) async {
        guard await comes({ hasEnded }) else {
            return fail("\(when) it should return, and still ran much later")
        }
        if case .failure? = outcome { fail("\(when) it should return without an error") }
    }

    /// Ends the transport, unless it has ended.
    func end() async {
        intake.refuse(.stopping)
        cancel()
        for index in 0..<intake.payloads.count { intake.end(index, nil) }
        _ = await comes { run.withLock { $0 } == nil || hasEnded }
    }

    // MARK: Payloads

    /// Distinct payloads.
    static func payloads(_ range: ClosedRange<Int>) -> [[UInt8]] { range.map { Array("{\"n\":\($0)}".utf8) } }

    /// Sends payloads and expects that all are accepted, after the earlier ones.
    func expectTaken(_ range: ClosedRange<Int>, _ when: String) async throws {
        let before = intake.payloads.map(\.bytes)
        try await bench.send(Self.payloads(range))
        await expectTaken(before + Self.payloads(range), when)
    }

    func expectTaken(_ payloads: [[UInt8]], _ when: String) async {
        let hasCome = await comes { intake.payloads.count >= payloads.count }
        let found = intake.payloads.map(\.bytes)
        guard hasCome else {
            return fail("\(when): \(payloads.count) payloads in all should be taken in, \(found.count) were")
        }
        guard found != payloads else { return }
        let isSameSet = Set(found) == Set(payloads) && found.count == payloads.count
        fail(
            isSameSet
                ? "\(when): the payloads should come in their order" : "\(when): other payloads came than were sent"
        )
    }

    // MARK: Answers

    /// Expects that the sender receives these acknowledgements.
    ///
    /// It sees none of a batch as done that is acknowledged together, if others of it are still open.
    func expectAnswers(
        acknowledged: Int, refused: Int = 0, othersAreOpen: Bool = false, _ when: String
    ) async throws {
        var expected = TransportAnswers()
        let isDue = bench.transport.abilities.contains(.acknowledges) && !(othersAreOpen && bench.acknowledgesTogether)
        expected.acknowledged = isDue ? acknowledged : 0
        expected.refused = bench.transport.abilities.contains(.refuses) ? refused : 0
        var found = TransportAnswers()
        let hasHeard = try await comes {
            found = try bench.answers()
            return found == expected
        }
        guard !hasHeard else { return }
        fail(
            "\(when): the sender should have heard of \(expected.acknowledged) acknowledged and \(expected.refused) "
                + "refused payloads, and has of \(found.acknowledged) and \(found.refused)")
    }

    /// Expects that at most this many payloads were acknowledged.
    func expectNoMoreAcknowledged(than count: Int, _ when: String) throws {
        let found = try bench.answers().acknowledged
        if found > count { fail("\(when): \(count) payloads may be acknowledged, \(found) were") }
    }
}

/// A task, and how it has ended.
final class Attempt: Sendable {
    private let state = Mutex<(end: Result<Void, any Error>?, task: Task<Void, Never>?)>((nil, nil))

    /// Nil before its end.
    var end: Result<Void, any Error>? { state.withLock { $0.end } }

    init(_ work: @escaping @Sendable () async throws -> Void) {
        let task = Task {
            let end: Result<Void, any Error>
            do { end = .success(try await work()) } catch { end = .failure(error) }
            state.withLock { $0.end = end }
        }
        state.withLock { $0.task = task }
    }

    func cancel() { state.withLock { $0.task }?.cancel() }
}
