enum MQTTAnswers {
    /// Whether a connection was refused because of this client, so that a retry fails until somebody changes something.
    ///
    /// False if the broker is busy, has moved temporarily, or is about to stop.
    static func isRefusal(connection code: Int32, _ version: MQTTSettings.Version) -> Bool {
        if version == .v5 {
            // Unsupported version, client id, user or password, not authorized, banned, authentication method, moved.
            return [0x84, 0x85, 0x86, 0x87, 0x8A, 0x8C, 0x9D].contains(code) || ofWill.contains(code)
        }
        // Version, client id, user or password, not authorized; 3 means that the broker is not available now.
        return [1, 2, 4, 5].contains(code)
    }

    /// Why MQTT 5's broker refuses a will: its topic, its size or its payload, or that it is retained.
    private static let ofWill: Set<Int32> = [0x90, 0x95, 0x99, 0x9A]

    /// What to check after a connection was refused.
    static func suspects(connection code: Int32) -> String {
        if code == 0x9D { return "the address" }
        return ofWill.contains(code) ? "the will" : "user, password, certificate, client id and version"
    }

    /// Whether a subscription was refused because of this client or its topic.
    static func isRefusal(subscription code: Int32, _ version: MQTTSettings.Version) -> Bool {
        // Unspecified, implementation specific, packet id in use and quota are temporary; before MQTT 5 there is one
        // code.
        version != .v5 || ![0x80, 0x83, 0x91, 0x97].contains(code)
    }

    /// Whether libmosquitto of a version, such as 2000011, aborts at an MQTT 5 packet with an unknown property.
    ///
    /// It then logs for a null client, which fails an assertion; 2.1 does not log.
    static func endsProcess(_ version: Int32) -> Bool { version < 2_001_000 }

    /// The library's reason for a refusal, as the end of a sentence: without its prefix and full stop.
    static func words(_ reason: String) -> String {
        var words = Substring(reason)
        let beginning = "Connection Refused: "
        if words.hasPrefix(beginning) { words = words.dropFirst(beginning.count) }
        if words.hasSuffix(".") { words = words.dropLast() }
        return (words.first?.lowercased() ?? "") + words.dropFirst()
    }
}
