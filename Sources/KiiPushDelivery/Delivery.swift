import KiiPush

/// A message in a service, owned by the service's state while it waits, else by the task that processes it.
struct Delivery: Sendable {
    let ticket: Ticket
    let settings: DeliverySettings
    /// How far it has come in the receiver.
    var incoming: Incoming
    /// How often in a row its handlers could not begin for lack of a resource.
    var shortages = 0
    /// How often a middleware failed.
    var middlewareFailures = 0
    /// Whether it waits because more of its kind came than are handled at once.
    var isPaced = false
    /// The last error that was thrown: its type, or its own description.
    var cause: String?
    /// How it has ended for the chain, and what its sender gets; it is still in the inbox.
    var end: (outcome: Outcome, answer: Answer?)?
    var hasPlace = false
    /// Whether it blocks its lane: it is being handled, or is tried again before those behind it.
    var hasLane = false
    /// Whether it was in flight when a process ended, and no handler has run since: it then runs alone, so that a
    /// message that crashes the process is detected.
    var isSuspect = false

    var message: RoutedMessage { incoming.message }

    /// How often it was tried: runs of its handlers, and failures of middlewares.
    var tries: Int { incoming.attempts + middlewareFailures }

    /// Whether it waits for its first turn.
    var isUntried: Bool { !isSuspect && tries == 0 }

    /// Whether a newer change of its object, for the same routes, takes its place while it waits for its first turn.
    func isReplaced(by other: Delivery) -> Bool {
        isUntried && !message.routes.isEmpty && isOlder(than: other)
            && message.routes.elementsEqual(other.message.routes) { $0.id.isExactly($1.id) }
    }

    /// Whether it reports an earlier change of the same object than another one.
    ///
    /// False if the times are equal or missing: it may be the same change again, which the deduplicator would drop as a
    /// duplicate of the message that it replaced.
    func isOlder(than other: Delivery) -> Bool {
        let (own, other) = (message.message, other.message.message)
        guard own.storage.classified.hasObject, let object = own.object, object == other.object else { return false }
        if let time = own.modifiedAt, let others = other.modifiedAt, time >= others { return false }
        if let time = own.sentAt, let others = other.sentAt { return time < others }
        return own.modifiedAt != nil && other.modifiedAt != nil
    }
}

/// The constant parts of a delivery, which are all that is in memory while it waits in the durable inbox.
final class Ticket: Sendable {
    /// Its number in the inbox.
    let number: UInt64
    let use: Use
    let lane: LaneKey
    let keys: ShareKeys
    /// The transport that submitted it, if the inbox is not durable.
    let intake: Int?
    let receipt: Receipt
    /// The routes that were switched off when it came.
    let killed: [String]
    /// The time of a change of an object in its lane, which a newer one may replace on disk; nil for any other message.
    let changedAt: Int64?
    /// The dead letter that it becomes when the store has capacity; nil for a message that is to be handled.
    let putOff: PutOff?

    /// One that `mayBeReplaced` may wait on disk, and no handler has handled it.
    init(
        _ number: UInt64, _ message: RoutedMessage, _ settings: DeliverySettings, _ receipt: Receipt, intake: Int?,
        killed: [String], mayBeReplaced: Bool
    ) {
        self.number = number
        self.receipt = receipt
        self.intake = intake
        self.killed = killed
        use = Use(bytes: message.message.raw.size)
        lane = LaneKey(settings, message.message, number)
        keys = ShareKeys(message)
        // A lane that is not its object's has other objects.
        let isChange =
            mayBeReplaced && message.message.storage.classified.hasObject
            && ResourceKey(ofItsObject: message.message).map { .place($0) } == lane
        changedAt = isChange ? message.message.sentAt ?? message.message.modifiedAt : nil
        putOff = nil
    }

    /// The ticket of a message that did not fit into the dead-letter store.
    init(_ ticket: Ticket, _ putOff: PutOff) {
        (number, use, lane, keys) = (ticket.number, ticket.use, .putOff, ticket.keys)
        (intake, receipt, killed, changedAt) = (ticket.intake, ticket.receipt, ticket.killed, nil)
        self.putOff = putOff
    }
}

/// A dead letter that did not fit into its store, and waits in the durable inbox.
struct PutOff: Sendable {
    let reason: DeadLetter.Reason
    /// The routes that did not handle it.
    let routes: [String]
    let cause: String?
}

/// The key that keeps deliveries in order.
enum LaneKey: Hashable, Sendable {
    /// All deliveries of one object, topic or sender, or with one text of the user's own.
    case place(ResourceKey)
    /// A delivery that is not ordered.
    case alone(UInt64)
    /// All messages that did not fit into the dead-letter store.
    case putOff

    fileprivate init(_ settings: DeliverySettings, _ message: PushMessage, _ number: UInt64) {
        let key: ResourceKey? =
            if let orderKey = settings.orderKey {
                orderKey.text(of: message).map { ResourceKey(own: $0) }
            } else {
                switch settings.order {
                case .none: nil
                case .object:
                    ResourceKey(ofItsObject: message) ?? ResourceKey(topicOf: message) ?? ResourceKey(senderOf: message)
                        ?? ResourceKey(mqttTopicOf: message)
                case .topic: ResourceKey(topicOf: message)
                case .sender: ResourceKey(senderOf: message)
                }
            }
        self = key.map { .place($0) } ?? .alone(number)
    }
}
