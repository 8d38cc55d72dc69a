import KiiPush

extension PlaceKey {
    /// What keeps a message in order with others; nil when it has nothing of that kind.
    init?(_ order: DeliverySettings.Order, of message: PushMessage) {
        let found: PlaceKey? =
            switch order {
            case .none: nil
            case .object: PlaceKey(ofItsObject: message) ?? PlaceKey(topicOf: message) ?? PlaceKey(senderOf: message)
            case .topic: PlaceKey(topicOf: message)
            case .sender: PlaceKey(senderOf: message)
            }
        guard let found else { return nil }
        self = found
    }
}
