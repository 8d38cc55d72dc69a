public import KiiPush

/// A push to send to a topic: the data, the keys that Kii adds, and the fields of each network.
///
/// Make it in code, or read it from a body of Kii's REST API. Before sending, use ``problems(sentTo:)`` to check it,
/// ``preview(_:sentTo:)`` to see what a device would get, and ``budget(_:sentTo:)`` to see how much fits. It is a value
/// and sends nothing.
///
/// ```swift
/// var message = OutgoingMessage(data: ["text": "The door is open", "since": 1_373_623_307])
/// message.apns.alert = .init(title: "Home", body: "The door is open")
/// message.mqtt.isEnabled = false
/// ```
public struct OutgoingMessage: Sendable, Hashable {
    /// Data for all devices: one level of strings, numbers and booleans.
    public var data: KeyedData
    /// Your own type of the push: `pushMessageType` in the request, and `t` or `type` in what devices get.
    public var type: String?
    /// The keys that Kii adds; remove a switch to save its bytes.
    public var sends = SendSwitch.standard
    /// Whether the push goes to development installations.
    public var sendToDevelopment = true
    /// Whether the push goes to production installations.
    public var sendToProduction = true
    /// The fields for APNs devices; enabled by default.
    public var apns = APNSFields()
    /// The fields for FCM devices; enabled by default.
    public var fcm = FCMFields()
    /// The fields for JPush devices; disabled by default.
    public var jpush = JPushFields()
    /// The fields for MQTT devices; enabled by default.
    public var mqtt = MQTTFields()

    /// A push with `data` for APNs, FCM and MQTT devices.
    public init(data: KeyedData = [:]) { self.data = data }

    /// The networks that the push goes to, in alphabetical order.
    public var networks: [PushNetwork] { PushNetwork.allCases.filter(isEnabled) }

    /// Whether the push goes to a network.
    public func isEnabled(_ network: PushNetwork) -> Bool { fields(network).isEnabled }

    func ownData(_ network: PushNetwork) -> KeyedData { fields(network).data }

    private func fields(_ network: PushNetwork) -> (isEnabled: Bool, data: KeyedData) {
        switch network {
        case .apns: (apns.isEnabled, apns.data)
        case .fcm: (fcm.isEnabled, fcm.data)
        case .jpush: (jpush.isEnabled, jpush.data)
        case .mqtt: (mqtt.isEnabled, mqtt.data)
        }
    }

    func name(of network: PushNetwork) -> String {
        network == .fcm && fcm.isNamedGCM ? "gcm" : network.rawValue
    }
}

/// A network that carries a push to devices.
@nonexhaustive
public enum PushNetwork: String, Sendable, Hashable, CaseIterable {
    /// Apple's push service: short keys, and Apple's dictionary.
    case apns
    /// Firebase Cloud Messaging, once GCM: long keys, every value a string.
    case fcm
    /// JPush: long keys.
    case jpush
    /// MQTT: long keys, and the two URIs.
    case mqtt

    /// The largest payload in bytes of UTF-8; nil if Kii documents no limit, as for JPush.
    public var limit: Int? {
        switch self {
        case .apns: 2048
        case .fcm, .mqtt: 4096
        case .jpush: nil
        }
    }

    /// The transport name of this network's payloads in a receiver.
    public var transport: Transport { Transport(rawValue) }
}

/// A switch that makes Kii add keys to a push; the raw value is its name in the request.
public enum SendSwitch: String, Sendable, Hashable, CaseIterable {
    /// The sender: `s`, `sender`. On by default.
    case sender = "sendSender"
    /// The topic's scope: `sa`, `st`, `su`, `sg`, `sth` and their long names. On by default.
    case objectScope = "sendObjectScope"
    /// The topic: `to`, `topic`. On by default; without it a receiver decodes the push as a Direct Push.
    case topicID = "sendTopicID"
    /// The time of sending: `w`, `when`. On here; Kii's documents contradict each other on the default, so it is always
    /// stated.
    case when = "sendWhen"
    /// The sending app: `a`, `appID`. Off by default.
    case appID = "sendAppID"
    /// The origin, which marks an explicitly sent push: `o`, `origin`. Off by default.
    case origin = "sendOrigin"

    /// The switches that are on by default.
    public static let standard: Set<SendSwitch> = [.sender, .objectScope, .topicID, .when]
}
