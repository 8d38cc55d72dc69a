public import KiiPush

/// The payload that a device would get over one network.
///
/// It follows Kii's documents and samples. Where these are silent, as on the order of keys, the preview shows one
/// possible payload.
public struct PushPreview: Sendable {
    /// The network.
    public let network: PushNetwork
    /// The payload: one object, as one line of JSON.
    public let text: String
    package let object: DataValue

    /// The size that counts towards the network's limit, in bytes of UTF-8: the payload, and for FCM also the
    /// `notification`.
    public var bytes: Int { text.utf8.count + besideBytes }

    /// The length of FCM's `notification` with its key, which is not part of the app's payload.
    private let besideBytes: Int

    /// The payload as a receiver gets it from the network's transport.
    public var payload: RawPayload { RawPayload(text, transport: network.transport) }

    init(_ message: OutgoingMessage, _ network: PushNetwork, _ address: PushAddress) {
        var members: [(key: String, value: DataValue)] = []
        if network == .apns { members.append(("aps", message.apns.appleDictionary)) }
        let added = address.addedKeys(to: message, network)
        let taken = Set((members + added).map { ExactText($0.key) })
        // Kii's keys win over a sender's keys of the same name; the check reports them.
        for (key, value) in message.data(for: network).members where !taken.contains(ExactText(key)) {
            members.append((key, network == .fcm ? .string(value.fcmText) : value))
        }
        object = .object(members + added)
        self.network = network
        text = object.jsonText
        besideBytes = network == .fcm ? message.fcm.notificationBytes : 0
    }
}

extension OutgoingMessage {
    /// The payload that a device would get over a network, even if that network is disabled.
    ///
    /// A network's own data overrides the common data: Kii does not document whether the two are merged, or one
    /// replaces the other.
    public func preview(_ network: PushNetwork, sentTo address: PushAddress) -> PushPreview {
        PushPreview(self, network, address)
    }

    func data(for network: PushNetwork) -> KeyedData { data.merging(ownData(network)) }
}

extension DataValue {
    fileprivate var fcmText: String { string ?? jsonText }
}

extension FCMFields {
    /// The length of `"notification":{…},`; 0 without one.
    fileprivate var notificationBytes: Int {
        guard let notification else { return 0 }
        return notification.jsonText.utf8.count + #""notification":,"#.utf8.count
    }
}

extension APNSFields {
    fileprivate var appleDictionary: DataValue {
        var members: [(key: String, value: DataValue)] = []
        if let alert { members.append(("alert", alert.object(\.appleName, locArgs: "loc-args"))) }
        if let badge { members.append(("badge", .integer(badge))) }
        if let sound { members.append(("sound", .string(sound))) }
        if contentAvailable == true { members.append(("content-available", 1)) }
        if let category { members.append(("category", .string(category))) }
        if mutableContent == true { members.append(("mutable-content", 1)) }
        return .object(members)
    }
}

/// The context in which Kii's server sends a push: the topic, the sender, the app, and the time.
public struct PushAddress: Sendable, Hashable {
    /// The app's id.
    public var app: String
    /// The topic that it is sent to.
    public var topic: KiiTopic
    /// The sender; the app's developer is an administrator.
    public var sender: Sender
    /// When it is sent, in milliseconds since 1970.
    public var sentAt: Int64

    /// Sets the context of a push.
    public init(app: String, topic: KiiTopic, sender: Sender, sentAt: Int64) {
        self.app = app
        self.topic = topic
        self.sender = sender
        self.sentAt = sentAt
    }

    /// The app's developer, who sends with an administrator's token.
    public static let developer = Sender.admin("APP_ADMIN")

    /// A sender who may send to a topic, with an id of the usual length: that of a UUID.
    static func assumedSender(to topic: KiiTopic) -> Sender {
        switch topic.scope {
        case .app: developer
        case .user(let owner): .user(owner)
        case .group, .thing: .user(id: String(repeating: "0", count: 36))
        }
    }
}

/// The size of a push for one network, and the possible savings.
public struct PushBudget: Sendable, Hashable {
    /// The payload's size with all keys that the server adds, in bytes of UTF-8.
    public let used: Int
    /// The network's limit; nil if Kii documents none.
    public let limit: Int?
    /// The bytes that turning off each switch would save; 0 for one that is off.
    public let saved: [SendSwitch: Int]

    /// The number of bytes left; negative if it is too large, nil without a limit.
    public var left: Int? { limit.map { $0 - used } }
}

extension OutgoingMessage {
    /// How much of a network's limit ``preview(_:sentTo:)`` takes.
    public func budget(_ network: PushNetwork, sentTo address: PushAddress) -> PushBudget {
        let used = preview(network, sentTo: address).bytes
        var saved: [SendSwitch: Int] = [:]
        for key in SendSwitch.allCases {
            var smaller = self
            smaller.sends.remove(key)
            saved[key] = used - smaller.preview(network, sentTo: address).bytes
        }
        return PushBudget(used: used, limit: network.limit, saved: saved)
    }
}

extension PushAddress {
    /// The keys that Kii's server adds to a push on its way to one network, by short name, then the URIs.
    ///
    /// Kii documents the two URIs of MQTT as always present, without a switch: they stay even if the keys with the same
    /// content are suppressed. An administrator has no bare id to send.
    fileprivate func addedKeys(
        to message: OutgoingMessage, _ network: PushNetwork
    ) -> [(key: String, value: DataValue)] {
        var values: [(KiiField, String?)] = []
        let sends = message.sends
        if sends.contains(.appID) { values.append((.appID, app)) }
        if sends.contains(.origin) { values.append((.origin, "EXPLICIT")) }
        if sends.contains(.sender) { values.append((.sender, senderID)) }
        if sends.contains(.objectScope) { values += scopeValues }
        if let type = message.type { values.append((.type, type)) }
        if sends.contains(.topicID) { values.append((.topic, topic.name)) }
        if sends.contains(.when) { values.append((.when, String(sentAt))) }
        if network == .mqtt {
            values += [(.sourceURI, topic.uri.description), (.senderURI, senderURI.description)]
        }
        return values.compactMap { field, value in
            guard let value else { return nil }
            let key = network == .apns ? field.shortName : field.longName
            return (key, field == .when && network != .fcm ? .number(value) : .string(value))
        }
    }

    private var scopeValues: [(KiiField, String?)] {
        let field: KiiField =
            switch topic.scope {
            case .app, .user: .scopeUserID
            case .group: .scopeGroupID
            case .thing: .scopeThingID
            }
        return [(.scopeAppID, app), (.scopeType, topic.scope.typeName), (field, topic.scope.id)]
    }

    private var senderID: String? { if case .admin = sender { nil } else { sender.id } }

    private var senderURI: KiiURI {
        switch sender {
        case .user(let user): user.uri
        case .thing(let thing): thing.uri
        case .admin(let name): KiiURI(owner: .admin(name))
        }
    }
}
