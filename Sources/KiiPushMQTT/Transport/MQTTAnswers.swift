/// What a broker's answers mean.
enum MQTTAnswers {
    /// Whether a refused connection is about who asks, so that it would be refused again until somebody changes
    /// something.
    ///
    /// Not so when the broker is busy, has moved for a while, or is about to stop.
    static func isRefusal(connection code: Int32, _ version: MQTTSettings.Version) -> Bool {
        if version == .v5 {
            // Unsupported version, client id, user or password, not authorized, banned, authentication method, moved.
            return [0x84, 0x85, 0x86, 0x87, 0x8A, 0x8C, 0x9D].contains(code)
        }
        // Version, client id, user or password, not authorized; 3 is a broker that is not available now.
        return [1, 2, 4, 5].contains(code)
    }

    /// Whether a refused subscription is about who asks, and for what.
    static func isRefusal(subscription code: Int32, _ version: MQTTSettings.Version) -> Bool {
        // Unspecified, specific to the broker, packet id in use and quota are of the moment; before MQTT 5 there is one
        // code.
        version != .v5 || ![0x80, 0x83, 0x91, 0x97].contains(code)
    }

    /// Whether libmosquitto of a version, such as 2000011, ends the process when a packet of MQTT 5 has an unknown
    /// property.
    ///
    /// It then writes to the log of a client that it does not know, and asserts that it does; 2.1 writes nothing.
    static func endsProcess(_ version: Int32) -> Bool { version < 2_001_000 }

    /// The library's words for a refusal as the end of a sentence: without its own beginning and full stop.
    static func words(_ reason: String) -> String {
        var words = Substring(reason)
        let beginning = "Connection Refused: "
        if words.hasPrefix(beginning) { words = words.dropFirst(beginning.count) }
        if words.hasSuffix(".") { words = words.dropLast() }
        return (words.first?.lowercased() ?? "") + words.dropFirst()
    }
}
