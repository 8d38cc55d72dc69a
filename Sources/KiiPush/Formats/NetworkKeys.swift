/// The root keys that a network or this SDK adds to a payload: they are not data.
///
/// From Google's list of reserved keys, those that reach a device, and JPush's own extras.
enum NetworkKeys {
    static let aps = "aps"

    /// The key of the stamp, which counts the handlers that a message has passed through.
    static let stamp = "_kl"

    /// FCM's own id of a message, in the payload itself.
    static let fcmMessageID = "google.message_id"

    /// FCM's id of a message for Apple's devices, beside `aps`.
    static let fcmIDForApple = "gcm.message_id"

    static let jpush = "cn.jpush.android."

    /// Whether the network adds this key, differently for each delivery.
    static func isAdded(_ text: Span<UInt8>, _ key: JSONToken) -> Bool {
        key.read(text) { name, range in
            name.matches(range, "from") || name.matches(range, "collapse_key") || name.begins(range, with: "google.")
                || name.begins(range, with: "gcm.") || name.begins(range, with: jpush)
        }
    }
}

/// A network's own id of a message, from the payload or its envelope.
struct NetworkID {
    let id: String
    /// Whether JPush made it, and not FCM; not the transport itself, which would make every message larger.
    var isJPush = false

    /// The transport that made the id, whichever delivered the payload.
    var transport: Transport { isJPush ? .jpush : .fcm }
}
