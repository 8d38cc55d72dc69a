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
    /// The payload as a value.
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
        let added = AddedKeys(message, network, address).members
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
    ///
    /// - Parameters:
    ///   - network: the network.
    ///   - address: the topic, the sender, and the time.
    /// - Returns: the payload.
    public func preview(_ network: PushNetwork, sentTo address: PushAddress) -> PushPreview {
        PushPreview(self, network, address)
    }

    /// The data that a network's devices get.
    func data(for network: PushNetwork) -> KeyedData { data.merging(ownData(network)) }
}

extension DataValue {
    /// FCM's text for a value, since it supports only strings.
    fileprivate var fcmText: String {
        string ?? jsonText
    }
}

extension FCMFields {
    /// The length of `"notification":{…},`; 0 without one.
    fileprivate var notificationBytes: Int {
        guard let notification else { return 0 }
        return notification.jsonText.utf8.count + #""notification":,"#.utf8.count
    }
}

extension APNSFields {
    /// Apple's dictionary, as Kii's server builds it from the fields.
    fileprivate var appleDictionary: DataValue {
        var members: [(key: String, value: DataValue)] = []
        if let alert { members.append(("alert", alert.shown)) }
        if let badge { members.append(("badge", .integer(badge))) }
        if let sound { members.append(("sound", .string(sound))) }
        if contentAvailable == true { members.append(("content-available", 1)) }
        if let category { members.append(("category", .string(category))) }
        if mutableContent == true { members.append(("mutable-content", 1)) }
        return .object(members)
    }
}

extension APNSFields.Alert {
    fileprivate var shown: DataValue {
        var members: [(key: String, value: DataValue)] = Self.parts.compactMap { part in
            self[keyPath: part.path].map { (part.appleName, .string($0)) }
        }
        if !locArgs.isEmpty { members.append(("loc-args", .array(locArgs.map { .string($0) }))) }
        return .object(members)
    }
}
