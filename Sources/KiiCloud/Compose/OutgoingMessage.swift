import KiiPush

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

    /// The networks that are enabled by default, as in Kii's own SDKs.
    static let standardNetworks: Set<PushNetwork> = [.apns, .fcm, .mqtt]

    /// The networks that the push goes to, in alphabetical order.
    public var networks: [PushNetwork] { PushNetwork.allCases.filter(isEnabled) }

    /// Whether the push goes to a network.
    public func isEnabled(_ network: PushNetwork) -> Bool {
        switch network {
        case .apns: apns.isEnabled
        case .fcm: fcm.isEnabled
        case .jpush: jpush.isEnabled
        case .mqtt: mqtt.isEnabled
        }
    }

    /// The data that only one network's devices get.
    func ownData(_ network: PushNetwork) -> KeyedData {
        switch network {
        case .apns: apns.data
        case .fcm: fcm.data
        case .jpush: jpush.data
        case .mqtt: mqtt.data
        }
    }

    /// The name of a network's fields in the request.
    func name(of network: PushNetwork) -> String {
        network == .fcm && fcm.isNamedGCM ? "gcm" : network.rawValue
    }
}
