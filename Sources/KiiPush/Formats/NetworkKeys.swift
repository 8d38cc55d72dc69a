/// The root keys that a network adds to a payload, or that this SDK adds for itself: nobody's data.
///
/// From Google's list of keys that a sender may not use, as far as they reach a device, and JPush's own extras.
enum NetworkKeys {
    /// The stamp by which a message that a handler sent is recognised, however many devices it went through.
    static let stamp = "_kl"

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
