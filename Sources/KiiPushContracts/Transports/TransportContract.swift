import KiiPush
public import KiiPushDelivery
public import Testing

/// All guarantees that a `PushTransport` gives a service, as one test to run against your own transport.
///
/// ```swift
/// @Test("my transport meets the guarantees of a transport")
/// func guarantees() async {
///     await TransportContract { MyBench() }.verify()
/// }
/// ```
///
/// Each guarantee gets its own bench and transport, and an intake that accepts, is full, or fails, as the guarantee
/// needs. A failure names the broken guarantee, and what the transport did instead. Guarantees that the transport's
/// abilities exclude are skipped. A guarantee must hold within ten seconds; a machine too busy to run its tests gets
/// longer.
public struct TransportContract: Sendable {
    private let makeBench: @Sendable () async throws -> any TransportBench

    /// Takes what makes a bench with a new transport, once per guarantee.
    public init(makeBench: @escaping @Sendable () async throws -> any TransportBench) { self.makeBench = makeBench }

    /// Checks every guarantee, and records an issue for each one that is broken.
    public func verify(sourceLocation: SourceLocation = #_sourceLocation) async {
        await verify { guarantee, what in Issue.record("\(guarantee): \(what)", sourceLocation: sourceLocation) }
    }

    /// Checks every guarantee, and reports each broken one to `report`.
    package func verify(
        patience: Duration = .seconds(10),
        _ report: @escaping @Sendable (_ guarantee: String, _ what: String) -> Void
    ) async {
        for guarantee in TransportGuarantee.all {
            do {
                let trial = try await TransportTrial(makeBench(), isDurable: guarantee.isDurable, patience: patience) {
                    report(guarantee.text, $0)
                }
                // Before it is ended: the transport's own end may be why the bench failed.
                do { try await guarantee.check(trial) } catch { trial.fail("the bench threw \(error)") }
                await trial.end()
            } catch {
                report(guarantee.text, "the bench could not be made: \(error)")
            }
        }
    }
}

/// One guarantee of a transport, and the check for it.
struct TransportGuarantee: Sendable {
    let text: String
    var isDurable = false
    let check: @Sendable (TransportTrial) async throws -> Void

    init(
        _ text: String, isDurable: Bool = false, check: @escaping @Sendable (TransportTrial) async throws -> Void
    ) {
        self.text = text
        self.isDurable = isDurable
        self.check = check
    }
}

/// The other end of a transport under test: sends payloads to it, and observes their acknowledgements.
///
/// Write one for your own transport and pass it to a ``TransportContract``. It acts as a single sender.
public protocol TransportBench: Sendable {
    /// The transport, made once, and connected to this bench.
    var transport: any PushTransport { get }

    /// Whether the transport ends when the sender cuts the connection, as at the end of an input; otherwise it waits
    /// for the sender to reconnect, or reconnects itself.
    var endsWhenCut: Bool { get }

    /// Whether the transport acknowledges a batch as a whole, once its last payload has ended, and not at all if one
    /// payload is to be retried; false if it acknowledges each by itself.
    var acknowledgesTogether: Bool { get }

    /// Sends payloads in this order, once the transport is reachable; reconnects if the connection was cut.
    ///
    /// Payloads of the contract are short lines of JSON; at most three are unanswered while the transport may answer.
    /// This must not wait for the transport to accept them: up to 300 are sent at a time, which the connection, or a
    /// task of the bench, must buffer.
    ///
    /// - Throws: if the transport is not reachable within a few seconds.
    func send(_ payloads: [[UInt8]]) async throws

    /// The acknowledgements that the sender has received so far; does not wait.
    func answers() throws -> TransportAnswers

    /// Cuts the connection, as a sender that ends or a network failure would.
    func cut() async throws
}

extension TransportBench {
    /// False: most transports acknowledge each payload by itself.
    public var acknowledgesTogether: Bool { false }
}

/// The acknowledgements that a sender has received.
public struct TransportAnswers: Sendable, Hashable {
    /// How many payloads are done, and need not be sent again.
    public var acknowledged = 0
    /// How many payloads were refused, and must be sent again.
    public var refused = 0

    /// No acknowledgements.
    public init() {}
}
