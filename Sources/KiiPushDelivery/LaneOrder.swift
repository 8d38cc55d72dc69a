import KiiPush

extension ResourceKey {
    /// What keeps a message in order with others; nil when it has nothing of that kind.
    init?(_ order: DeliverySettings.Order, of message: PushMessage) {
        let found: ResourceKey? =
            switch order {
            case .none: nil
            case .object:
                ResourceKey(ofItsObject: message) ?? ResourceKey(topicOf: message) ?? ResourceKey(senderOf: message)
            case .topic: ResourceKey(topicOf: message)
            case .sender: ResourceKey(senderOf: message)
            }
        guard let found else { return nil }
        self = found
    }
}
