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
/// abilities exclude are skipped. A guarantee must hold within ten seconds; a machine too
/// busy to run its tests gets longer.
public struct TransportContract: Sendable {
    private let makeBench: @Sendable () async throws -> any TransportBench

    /// Prepares the suite.
    ///
    /// - Parameter makeBench: makes a bench with a new transport, once per guarantee.
    public init(makeBench: @escaping @Sendable () async throws -> any TransportBench) { self.makeBench = makeBench }

    /// Checks every guarantee, and records an issue for each one that is broken.
    ///
    /// - Parameter sourceLocation: the location of issues.
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
                do { try await guarantee.check(trial) } catch {
                    report(
                        guarantee.text,
                        "the bench threw \(error)\(trial.error.map { "; the transport threw \($0)" } ?? "")")
                }
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
