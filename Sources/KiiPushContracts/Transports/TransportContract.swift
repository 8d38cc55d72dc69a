public import Testing

/// Everything that a `PushTransport` guarantees to a service, as one test to run against a transport of yours.
///
/// ```swift
/// @Test("my transport meets the guarantees of a transport")
/// func guarantees() async {
///     await TransportContract { MyBench() }.verify()
/// }
/// ```
///
/// Each guarantee gets a bench and a transport of its own, and an intake that has room, or has none, or fails, as the
/// guarantee needs. A failure names the guarantee that was broken, and what the transport did instead. What a transport
/// cannot do by its abilities is not asked of it. A guarantee that is not kept within ten seconds is broken; on a
/// machine too busy to give its tests a turn, they have longer.
public struct TransportContract: Sendable {
    private let makeBench: @Sendable () async throws -> any TransportBench

    /// Prepares the suite.
    ///
    /// - Parameter makeBench: makes a bench with a new transport, once a guarantee.
    public init(makeBench: @escaping @Sendable () async throws -> any TransportBench) { self.makeBench = makeBench }

    /// Checks every guarantee, and records an issue for each one that is broken.
    ///
    /// - Parameter sourceLocation: where issues are shown.
    public func verify(sourceLocation: SourceLocation = #_sourceLocation) async {
        await verify { guarantee, what in Issue.record("\(guarantee): \(what)", sourceLocation: sourceLocation) }
    }

    /// Checks every guarantee, and tells `report` of each that is broken, and how.
    package func verify(
        patience: Duration = .seconds(10),
        _ report: @escaping @Sendable (_ guarantee: String, _ what: String) -> Void
    ) async {
        for guarantee in TransportGuarantee.all {
            do {
                let trial = try await TransportTrial(makeBench(), isDurable: guarantee.isDurable, patience: patience) {
                    report(guarantee.text, $0)
                }
                // Before it is ended: how it ended by itself may be why the bench could not go on.
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

/// One guarantee of a transport, and how to find out whether it is kept.
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
