import KiiPush

extension MQTTSettings {
    /// What is wrong with a topic that must not contain wildcards; nil if it is valid.
    static func wrong(topic: String) -> String? {
        if topic.isEmpty { return "expected a topic, found an empty one" }
        if topic.utf8.count > 65_535 { return "expected a topic of at most 65535 bytes" }
        if topic.utf8.contains(where: { $0 == UInt8(ascii: "#") || $0 == UInt8(ascii: "+") }) {
            return "pushes come on exactly one topic; expected one without the wildcards '#' and '+'"
        }
        if topic.utf8.starts(with: "$share/".utf8) {
            return "pushes come on exactly one topic; a shared subscription's is another"
        }
        return wrong(text: topic, "topic")
    }

    /// What MQTT forbids in any text; nil if the text is valid.
    static func wrong(text: String, _ what: String) -> String? {
        let isForbidden = text.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }
        return isForbidden ? "expected a \(what) without control characters" : nil
    }

    /// Checks the settings as a whole.
    ///
    /// - Throws: ``MQTTSettingsError`` with every problem.
    public func check() throws(MQTTSettingsError) {
        var problems: [String?] = [Self.wrong(topic: topic), Self.wrong(text: host, "host")]
        if host.isEmpty { problems.append("expected the broker's host, found an empty text") }
        if !(1...65_535).contains(port) { problems.append("expected a port from 1 to 65535, found \(port)") }
        if !(5...65_535).contains(keepAlive) {
            problems.append("expected a keep-alive from 5 to 65535 seconds, found \(keepAlive)")
        }
        if !(1...Self.largestPayload).contains(payloadLimit) {
            problems.append("expected a payload limit from 1 to \(Self.largestPayload) bytes, found \(payloadLimit)")
        }
        problems.append(contentsOf: wrongIdentity)
        if caFile != nil, !usesTLS { problems.append("a CA file is of no use without TLS; write mqtts, or a portSSL") }
        if certificateFile != nil || keyFile != nil {
            if !usesTLS { problems.append("a client certificate is of no use without TLS; write mqtts, or a portSSL") }
            if certificateFile == nil { problems.append("a key needs its certificate; name that file too") }
            if keyFile == nil { problems.append("a certificate needs its key; name that file too") }
        }
        let found = problems.compactMap(\.self)
        guard found.isEmpty else {
            throw MQTTSettingsError(found.map { .init(source: "", position: nil, what: $0) })
        }
    }

    /// The largest MQTT payload, less the rest of its packet.
    private static let largestPayload = 268_000_000

    private var wrongIdentity: [String?] {
        var problems: [String?] = [Self.wrong(text: clientID, "client id")]
        if clientID.utf8.count > 256 { problems.append("expected a client id of at most 256 bytes") }
        if clientID.isEmpty, !cleanSession {
            problems.append("a lasting session needs a client id; set one that stays the same, or a clean session")
        }
        if let user { problems.append(Self.wrong(text: user, "user")) }
        if user?.utf8.count ?? 0 > 65_535 { problems.append("expected a user of at most 65535 bytes") }
        if password != nil, user == nil { problems.append("a password needs a user") }
        if case .text(let text)? = password { problems.append(Self.wrong(password: text)) }
        return problems
    }

    /// What is wrong with a password; the message contains nothing of it.
    static func wrong(password: String) -> String? {
        // libmosquitto takes a C string, and would truncate it there.
        if password.utf8.contains(0) { return "expected a password without NUL" }
        return password.utf8.count > 65_535 ? "expected a password of at most 65535 bytes" : nil
    }
}
