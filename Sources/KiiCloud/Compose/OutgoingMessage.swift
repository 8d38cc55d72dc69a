import KiiPush

/// A push to be sent to a topic: the data, what Kii adds, and what each network gets of its own.
///
/// Make it in code, or read it from the body that Kii's REST API takes. Before you send it, look at
/// ``problems(sentTo:)``, at what a device would get with ``preview(_:sentTo:)``, and at what fits with
/// ``budget(_:sentTo:)``. A value; nothing is sent by it.
///
/// ```swift
/// var message = OutgoingMessage(data: ["text": "The door is open", "since": 1_373_623_307])
/// message.apns.alert = .init(title: "Home", body: "The door is open")
/// message.mqtt.isEnabled = false
/// ```
public struct OutgoingMessage: Sendable, Hashable {
    /// Data for all devices: one level of strings, numbers and booleans.
    public var data: KeyedData
    /// A text of yours that devices get as the push's type: `pushMessageType`.
    public var type: String?
    /// What Kii adds; take a switch out to save its bytes.
    public var sends = SendSwitch.standard
    /// Whether the push goes to devices that were installed for development.
    public var sendToDevelopment = true
    /// Whether the push goes to devices that were installed for production.
    public var sendToProduction = true
    /// What APNs devices get; on by default.
    public var apns = APNSFields()
    /// What FCM devices get; on by default.
    public var fcm = FCMFields()
    /// What JPush devices get; off by default.
    public var jpush = JPushFields()
    /// What MQTT devices get; on by default.
    public var mqtt = MQTTFields()

    /// A push with `data` for APNs, FCM and MQTT devices.
    public init(data: KeyedData = [:]) { self.data = data }

    /// The networks that are on for a sender who says nothing of them, as in Kii's own SDKs.
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

    /// The name under which the request has a network's fields.
    func name(of network: PushNetwork) -> String {
        network == .fcm && fcm.isNamedGCM ? "gcm" : network.rawValue
    }
}
