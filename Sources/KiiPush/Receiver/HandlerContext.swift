/// What a handler is told beside the message itself.
public struct HandlerContext: Sendable {
    /// The route that called the handler.
    public let route: String

    /// The message's number in its receiver, as in traces.
    public let messageID: UInt64

    /// When the payload arrived, on the receiver's clock.
    public let arrivedAt: MonotonicInstant
}
