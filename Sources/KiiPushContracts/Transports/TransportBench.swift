import KiiPush
public import KiiPushDelivery

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
