import KiiPush

/// The keys that Kii's server adds to a push on its way to one network.
struct AddedKeys {
    /// The members in the order in which they are written: that of their short names, and the URIs behind.
    let members: [(key: String, value: DataValue)]

    /// What the server adds.
    ///
    /// The two URIs of MQTT are documented as always there, and no switch for them is: so they stay when the keys that
    /// say the same are suppressed. An administrator has no bare id to send.
    init(_ message: OutgoingMessage, _ network: PushNetwork, _ address: PushAddress) {
        var values: [(KiiField, String?)] = []
        let sends = message.sends
        if sends.contains(.appID) { values.append((.appID, address.app)) }
        if sends.contains(.origin) { values.append((.origin, "EXPLICIT")) }
        if sends.contains(.sender) { values.append((.sender, address.senderID)) }
        if sends.contains(.objectScope) { values += Self.scope(address) }
        if let type = message.type { values.append((.type, type)) }
        if sends.contains(.topicID) { values.append((.topic, address.topic.name)) }
        if sends.contains(.when) { values.append((.when, String(address.sentAt))) }
        if network == .mqtt {
            values.append((.sourceURI, address.topic.uri.description))
            values.append((.senderURI, address.senderURI.description))
        }
        members = values.compactMap { field, value in
            guard let value else { return nil }
            let key = network == .apns ? field.shortName : field.longName
            return (key, field == .when && network != .fcm ? .number(value) : .string(value))
        }
    }

    private static func scope(_ address: PushAddress) -> [(KiiField, String?)] {
        let scope = address.topic.scope
        let field: KiiField =
            switch scope {
            case .app, .user: .scopeUserID
            case .group: .scopeGroupID
            case .thing: .scopeThingID
            }
        return [(.scopeAppID, address.app), (.scopeType, scope.typeName), (field, scope.id)]
    }
}

extension PushAddress {
    fileprivate var senderID: String? {
        switch sender {
        case .user(let user): user.id
        case .thing(let thing): thing.id
        case .admin: nil
        }
    }

    fileprivate var senderURI: KiiURI {
        switch sender {
        case .user(let user): user.uri
        case .thing(let thing): thing.uri
        case .admin(let name): KiiURI(owner: .admin(name))
        }
    }
}
