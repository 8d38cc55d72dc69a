import KiiPush

/// A message in a service, owned by the service's state while it waits, else by the task that processes it.
struct Delivery: Sendable {
    let ticket: Ticket
    /// How far it has come in the receiver.
    var incoming: Incoming
    /// The routes that were switched off when it came, and whether the message was as a whole.
    let killed: (isWhole: Bool, routes: [String])
    /// How often in a row its handlers could not begin for lack of a resource.
    var shortages = 0
    /// How often a stage of the chain failed.
    var stageFailures = 0
    /// Whether it waits because more of its kind came than are handled at once.
    var isPaced = false
    /// The last error that was thrown: its type, or its own description.
    var cause: String?
    /// Whether the process ended too often while it was handled, so that it is dead-lettered and not handled.
    var isGuilty = false
    var hasPlace = false
    /// Whether it blocks its lane: it is being handled, or is tried again before those behind it.
    var hasLane = false
    /// Whether it was in flight when a process ended, and no handler has run since: it then runs alone, so that a
    /// message that crashes the process is detected.
    var isSuspect = false
    /// The older changes of its object that it replaces, oldest first, until the chain has admitted it.
    var replaced: [Delivery] = []

    var message: RoutedMessage { incoming.message }

    /// How often it was tried: runs of its handlers, and failures of stages.
    var tries: Int { incoming.attempts + stageFailures }

    /// Whether it waits for its first turn.
    var isUntried: Bool { !isGuilty && tries == 0 }

    /// Gives the place of this delivery to the newest untried change of its object that waits behind it, if there is
    /// one; that replaces all older ones.
    mutating func takeNewest(from room: inout WaitingRoom) -> Bool {
        let own = message
        guard case .place = ticket.lane, isUntried, !own.routes.isEmpty else { return false }
        let newer = room.remove(from: ticket.lane) { other in
            !other.isSuspect && other.isUntried && own.message.isOlder(than: other.message.message)
                && other.message.routes.elementsEqual(own.routes) { $0.id.isExactly($1.id) }
        }
        guard var newest = newer.first else { return false }
        for other in newer where newest.message.message.isOlder(than: other.message.message) { newest = other }
        newest.hasLane = hasLane
        for var other in [self] + newer where other.ticket !== newest.ticket {
            guard other.message.message.isOlder(than: newest.message.message) else {
                room.putFirst(other)
                continue
            }
            newest.replaced += other.replaced
            (other.replaced, other.hasLane) = ([], false)
            newest.replaced.append(other)
        }
        self = newest
        return true
    }
}

/// The constant parts of a delivery.
final class Ticket: Sendable {
    /// Its number in the inbox.
    let number: UInt64
    let use: Use
    let lane: LaneKey
    let keys: ShareKeys
    /// The transport that submitted it, if the inbox is not durable.
    let intake: Int?
    let settings: DeliverySettings
    let receipt: Receipt

    /// A message that has waited in the inbox as `item` keeps its lane and its keys.
    init(
        _ number: UInt64, _ message: RoutedMessage, _ settings: DeliverySettings, _ receipt: Receipt,
        intake: Int? = nil, _ item: Unread? = nil
    ) {
        self.number = number
        self.settings = settings
        self.receipt = receipt
        self.intake = intake
        use = Use(bytes: message.message.raw.size)
        lane = item?.lane ?? LaneKey(settings, message.message, number)
        keys = item?.keys ?? ShareKeys(message)
    }
}

/// The key that keeps deliveries in order.
enum LaneKey: Hashable, Sendable {
    /// All deliveries of one object, topic or sender, or with one text of the user's own.
    case place(ResourceKey)
    /// A delivery that is not ordered.
    case alone(UInt64)

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

extension PushMessage {
    /// Whether it reports an earlier change of the same object.
    ///
    /// False if the times are equal or missing: it may be the same change again, which the deduplicator would drop as a
    /// duplicate of the message that it replaced.
    fileprivate func isOlder(than other: PushMessage) -> Bool {
        guard storage.classified.hasObject, let object, object == other.object else { return false }
        if let own = modifiedAt, let others = other.modifiedAt, own >= others { return false }
        if let own = sentAt, let others = other.sentAt { return own < others }
        return modifiedAt != nil && other.modifiedAt != nil
    }
}
