import KiiPush

/// The keys that Kii's server adds to a push on its way to one network.
struct AddedKeys {
    /// The members in the order of writing: by short name, then the URIs.
    let members: [(key: String, value: DataValue)]

    /// The keys that the server adds.
    ///
    /// Kii documents the two URIs of MQTT as always present, without a switch: they stay even if the keys with the same
    /// content are suppressed. An administrator has no bare id to send.
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
