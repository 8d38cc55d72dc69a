import Synchronization

/// Brings payloads from transports to the handlers of a receiver, at least once, in order, through failures and crashes.
public final class PushService: Sendable {
    /// The receiver whose chain and handlers it uses.
    public let receiver: PushReceiver

    let transports: [any PushTransport]
    let inbox: any Inbox
    let settings: ServiceSettings

    /// Makes a service.
    ///
    /// - Parameters:
    ///   - receiver: the receiver whose chain and handlers it uses; give its payloads to nothing else.
    ///   - transports: what brings payloads.
    ///   - inbox: what keeps them until they have ended.
    ///   - settings: how much it takes on at once.
    ///   - delivery: how messages are delivered whose route says nothing else.
    public init(
        _ receiver: PushReceiver, _ transports: [any PushTransport], inbox: any Inbox = InMemoryInbox(),
        settings: ServiceSettings = .standard, delivery: DeliverySettings = DeliverySettings()
    ) {
        self.receiver = receiver
        self.transports = transports
        self.inbox = inbox
        self.settings = settings
    }
}
