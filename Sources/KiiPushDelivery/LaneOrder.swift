import KiiPush

extension ResourceKey {
    /// The ordering key of a message; nil if it has none of this kind.
    init?(_ order: DeliverySettings.Order, of message: PushMessage) {
        let found: ResourceKey? =
            switch order {
            case .none: nil
            case .object:
                ResourceKey(ofItsObject: message) ?? ResourceKey(topicOf: message) ?? ResourceKey(senderOf: message)
                    ?? ResourceKey(mqttTopicOf: message)
            case .topic: ResourceKey(topicOf: message)
            case .sender: ResourceKey(senderOf: message)
            }
        guard let found else { return nil }
        self = found
    }
}
