/// The root keys that a network adds to a payload, or that this SDK adds for itself: nobody's data.
///
/// From Google's list of keys that a sender may not use, as far as they reach a device, and JPush's own extras.
enum NetworkKeys {
    /// The stamp by which a message that a handler sent is recognised, however many devices it went through.
    static let stamp = "_kl"

    /// FCM's own id of a message, in the payload itself.
    static let fcmMessageID = "google.message_id"

    /// Whether the network adds this key, differently for each delivery.
    static func isAdded(_ text: Span<UInt8>, _ key: JSONToken) -> Bool {
        if key.hasEscapes {
            let name = key.bytes(in: text)
            return isAdded(name.span, JSONToken(.string, 0, name.count))
        }
        return text.matches(key.range, "from") || text.matches(key.range, "collapse_key")
            || text.begins(key.range, with: "google.") || text.begins(key.range, with: "gcm.")
            || text.begins(key.range, with: "cn.jpush.android.")
    }
}

/// A network's own id of a message, as the payload or its envelope has it.
struct NetworkID {
    // Not the transport itself, which would make every message larger.
    enum Network: UInt8 {
        case fcm
        case jpush
    }

    let network: Network
    let id: String

    /// The transport that the id is one of, whichever brought the payload.
    var transport: Transport {
        switch network {
        case .fcm: .fcm
        case .jpush: .jpush
        }
    }
}
