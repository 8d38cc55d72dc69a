public import KiiPush
public import Testing

/// All guarantees that an `AnswerSender` gives a service, as one test to run against your own.
///
/// ```swift
/// @Test("my sender meets the guarantees of a sender of answers")
/// func guarantees() async {
///     await AnswerSenderContract { MyBench() }.verify()
/// }
/// ```
///
/// Each guarantee gets its own bench and sender. A failure names the broken guarantee, and what the sender did instead.
/// A guarantee must hold within ten seconds; a machine too busy to run its tests gets longer.
public struct AnswerSenderContract: Sendable {
    private let makeBench: @Sendable () async throws -> any AnswerBench

    /// Takes what makes a bench with a new sender, once per guarantee.
    public init(makeBench: @escaping @Sendable () async throws -> any AnswerBench) { self.makeBench = makeBench }

    /// Checks every guarantee, and records an issue for each one that is broken.
    public func verify(sourceLocation: SourceLocation = #_sourceLocation) async {
        await verify { guarantee, what in Issue.record("\(guarantee): \(what)", sourceLocation: sourceLocation) }
    }

    /// Checks every guarantee, and reports each broken one to `report`.
    package func verify(
        patience: Duration = .seconds(10), _ report: (_ guarantee: String, _ what: String) -> Void
    ) async {
        for (guarantee, check) in Self.guarantees {
            do {
                if let what = try await check(AnswerTrial(bench: makeBench(), patience: patience)) {
                    report(guarantee, what)
                }
            } catch {
                report(guarantee, "the bench or the sender threw \(error)")
            }
        }
    }

    /// Each guarantee, and what is wrong if it is broken.
    private static let guarantees: [(text: String, check: @Sendable (AnswerTrial) async throws -> String?)] = [
        (
            "its name is a valid metrics label without an address",
            { trial in TransportGuarantee.wrong(name: trial.bench.sender.name) }
        ),
        (
            "it takes a command that it can answer",
            { trial in
                let isTaken = trial.bench.sender.takes(try PushMessage(trial.bench.command))
                return isTaken ? nil : "it does not take the bench's command"
            }
        ),
        (
            "each answer arrives",
            { trial in
                for id in 1...3 { try await trial.send(id) }
                return try await trial.lack(of: 3)
            }
        ),
        (
            "without a connection it waits or throws, and the answer can be sent later",
            { trial in
                try await trial.bench.cut()
                let first = trial.start(1)
                try await Task.sleep(for: trial.patience / 20)
                if case .success? = first.end { return "it returned though nobody can have confirmed the answer" }
                try await trial.bench.mend()
                guard await trial.comes({ first.end != nil }) else { return "it still waits much later" }
                if case .failure(let error as AnswerRefused)? = first.end { return "it refused the answer: \(error)" }
                if case .failure? = first.end { try await trial.sendAgain(1) }
                return try await trial.lack(of: 1)
            }
        ),
        (
            "it returns soon after its task is cancelled",
            { trial in
                try await trial.bench.cut()
                let first = trial.start(1)
                try await Task.sleep(for: trial.patience / 20)
                first.cancel()
                return await trial.comes { first.end != nil } ? nil : "it still waits much later"
            }
        ),
    ]
}

/// The other end of a sender of answers under test: receives and confirms what it sends.
///
/// Write one for your own sender and pass it to an ``AnswerSenderContract``.
public protocol AnswerBench: Sendable {
    /// The sender, made once, and connected to this bench.
    var sender: any AnswerSender { get }

    /// A command as received, to which it can deliver answers.
    var command: RawPayload { get }

    /// How many different answers, by their numbers, have been received and confirmed so far; does not wait.
    func received() throws -> Int

    /// Cuts the connection, as a network failure would; until it is mended, nothing is received.
    func cut() async throws

    /// Ends the failure.
    func mend() async throws
}

/// One guarantee's bench, and its sends.
private struct AnswerTrial {
    let bench: any AnswerBench
    let patience: Duration

    func send(_ id: Int) async throws {
        try await bench.sender.send(
            UnsentAnswer(
                id: UInt64(id), sender: bench.sender.name, payload: bench.command,
                answer: .succeeded(["number": .integer(id)])))
    }

    func start(_ id: Int) -> Attempt { Attempt { try await send(id) } }

    /// Sends as a service does, again while it fails.
    func sendAgain(_ id: Int) async throws {
        let end = ContinuousClock.now + patience
        while true {
            do { return try await send(id) } catch {
                if error is AnswerRefused || ContinuousClock.now > end { throw error }
                try await Task.sleep(for: patience / 100)
            }
        }
    }

    func comes(_ condition: () throws -> Bool) async rethrows -> Bool {
        try await KiiPushContracts.comes(within: patience, condition)
    }

    /// Waits until answers were received; returns what is wrong if they were not.
    func lack(of count: Int) async throws -> String? {
        if try await comes({ try bench.received() == count }) { return nil }
        return "of \(count) answers, \(try bench.received()) have been received"
    }
}
