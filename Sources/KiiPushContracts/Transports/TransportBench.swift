import KiiPush
public import KiiPushDelivery

/// The other end of a transport under test: what sends payloads to it, and hears what becomes of them.
///
/// Write one for a transport of yours and give it to a ``TransportContract``. All of it is one sender.
public protocol TransportBench: Sendable {
    /// The transport, made once; it has this bench at its other end.
    var transport: any PushTransport { get }

    /// Whether the transport ends when the sender cuts the link, as at the end of an input; else it waits for the
    /// sender to come again, or connects again itself.
    var endsWhenCut: Bool { get }

    /// Whether the transport acknowledges all that it has handed over together, once the last of it has ended, and
    /// nothing of it where one payload is to be tried later; false where it answers each by itself.
    var acknowledgesTogether: Bool { get }

    /// Sends payloads in this order, once the transport can be reached; connects again where the link was cut.
    ///
    /// Payloads of the contract are short lines of JSON, no more than three of them unanswered when the transport may
    /// answer them. It must not wait for the transport to take them: up to 300 are sent at a time, which the link, or a
    /// task of the bench's own, has to hold.
    ///
    /// - Throws: when the transport cannot be reached within a few seconds.
    func send(_ payloads: [[UInt8]]) async throws

    /// What the sender has heard of its payloads so far; it does not wait.
    func answers() throws -> TransportAnswers

    /// Cuts the link, as a sender does that ends, or a network that fails.
    func cut() async throws
}

extension TransportBench {
    /// No: most transports answer each payload by itself.
    public var acknowledgesTogether: Bool { false }
}

/// What a sender has heard of its payloads.
public struct TransportAnswers: Sendable, Hashable {
    /// How many are dealt with, and need not be sent again.
    public var acknowledged = 0
    /// How many are not, and have to be sent again.
    public var refused = 0

    /// Nothing.
    public init() {}
}
