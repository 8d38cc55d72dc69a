import KiiPush

/// A message in a service, from the moment when its payload is accepted until it has ended.
///
/// A value that one owner has at a time: the service's state while it waits, the task that walks it while it moves.
struct Delivery: Sendable {
    let ticket: Ticket
    /// How far it has come.
    var walk: MessageWalk
    /// Whether it has one of the service's places.
    var hasPlace = false
    /// Whether its lane waits for it: it is being handled, or tried again before those behind it.
    var hasLane = false
    /// The older changes of its object that it takes the place of, oldest first, until the chain has passed it.
    var replaced: [Delivery] = []
}

/// What does not change of a delivery.
final class Ticket: Sendable {
    /// Its number in the inbox.
    let number: UInt64
    let bytes: Int
    /// With whom it shares what the service has.
    let keys: ShareKeys
    /// The transport that handed it over to a service whose inbox is not durable.
    let intake: Int?
    let settings: DeliverySettings
    let receipt: Receipt
    /// Whether it was in flight when a process ended: it is run alone, so that the one that ends processes is found.
    let wasInFlightAtCrash: Bool

    init(
        _ number: UInt64, _ message: RoutedMessage, _ settings: DeliverySettings, _ receipt: Receipt,
        wasInFlightAtCrash: Bool, keys: ShareKeys?, intake: Int?
    ) {
        self.number = number
        self.settings = settings
        self.receipt = receipt
        self.wasInFlightAtCrash = wasInFlightAtCrash
        self.intake = intake
        bytes = message.message.raw.bytes.count
        self.keys =
            keys
            ?? ShareKeys(message, lane: settings.place(of: message.message).map { .place($0) } ?? .alone(number))
    }

    var lane: LaneKey { keys.lane }
}

/// What keeps deliveries in order.
enum LaneKey: Hashable, Sendable {
    /// All of one object, topic or sender, or of one text of the user's own.
    case place(ResourceKey)
    /// A delivery in no order.
    case alone(UInt64)
}

extension DeliverySettings {
    /// What keeps a message in order with others; nil when nothing does.
    fileprivate func place(of message: PushMessage) -> ResourceKey? {
        guard let orderKey else { return ResourceKey(order, of: message) }
        return orderKey.text(of: message).map { ResourceKey(own: $0) }
    }
}

// MARK: - Replacing

extension Delivery {
    /// Takes out of the lane the older changes of this one's object that have not been tried, to be replaced by this
    /// one.
    mutating func takeOlder(from lanes: inout Lanes) {
        guard ticket.settings.replacesOlder, case .place = ticket.lane, !walk.message.routes.isEmpty else { return }
        let own = walk.message
        let older = lanes.remove(from: ticket.lane) { other in
            other.ticket.settings.replacesOlder && !other.ticket.wasInFlightAtCrash && other.walk.isUntried
                && other.walk.message.routes.elementsEqual(own.routes, by: ===)
                && other.walk.message.message.isOlder(than: own.message)
        }
        for var delivery in older {
            replaced += delivery.replaced
            delivery.replaced = []
            replaced.append(delivery)
        }
    }
}

extension PushMessage {
    /// Whether it tells of an earlier change of the same object.
    ///
    /// Not where a time is the same or missing: it may be the same change once more, and for the deduplicator the one
    /// that replaces would repeat the one that it has replaced.
    fileprivate func isOlder(than other: PushMessage) -> Bool {
        guard storage.classified.hasObject, let object, object == other.object else { return false }
        if let own = modifiedAt, let others = other.modifiedAt, own >= others { return false }
        if let own = sentAt, let others = other.sentAt { return own < others }
        return modifiedAt != nil && other.modifiedAt != nil
    }
}
