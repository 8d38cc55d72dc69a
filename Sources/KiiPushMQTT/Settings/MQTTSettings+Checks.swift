import KiiPush
import KiiPushSystem

extension MQTTSettings {
    /// The filters of the subscriptions, which were checked.
    var topicFilters: [MQTTTopicFilter] { subscriptions.compactMap { try? MQTTTopicFilter($0.filter) } }

    /// What is wrong with a topic filter; nil if it is valid.
    static func wrong(filter: String) -> String? {
        do throws(MQTTTopicFilter.Problem) { _ = try MQTTTopicFilter(filter) } catch { return error.description }
        return nil
    }

    /// What is wrong with a topic that must not have wildcards; nil if it is valid.
    static func wrong(topic: String) -> String? {
        do throws(MQTTTopicFilter.Problem) {
            return try MQTTTopicFilter(topic).isTopic ? nil : "expected a topic without the wildcards '#' and '+'"
        } catch { return error.description }
    }

    /// What MQTT forbids in any text; nil if the text is valid.
    static func wrong(text: String, _ what: String) -> String? {
        text.hasControlCharacters ? "expected a \(what) without control characters" : nil
    }

    /// Checks the settings as a whole.
    ///
    /// - Throws: ``MQTTSettingsError`` with every problem.
    public func check() throws(MQTTSettingsError) {
        var problems: [String?] = [Self.wrong(text: host, "host")] + wrongTopics
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

    private var wrongTopics: [String?] {
        var problems = subscriptions.map { topic in
            Self.wrong(filter: topic.filter).map { "the topic '\(EscapedText(topic.filter))': \($0)" }
        }
        if subscriptions.isEmpty { problems.append("expected a topic: name one, as in mqtt://host/topic") }
        if subscriptions.count > Self.mostSubscriptions {
            problems.append("expected at most \(Self.mostSubscriptions) topics, found \(subscriptions.count)")
        }
        var filters: Set<[UInt8]> = []
        for topic in subscriptions where !filters.insert(Array(topic.filter.utf8)).inserted {
            problems.append("the topic '\(EscapedText(topic.filter))' is named twice")
        }
        for (what, announcement) in [("birth", birth), ("will", will)] {
            guard let announcement else { continue }
            problems.append(Self.wrong(topic: announcement.topic).map { "the \(what)'s topic: \($0)" })
            if announcement.payload.count > 65_536 {
                problems.append("expected a \(what) of at most 65536 bytes, found \(announcement.payload.count)")
            }
        }
        return problems
    }

    private var wrongIdentity: [String?] {
        var problems: [String?] = [Self.wrong(text: clientID, "client id")]
        if clientID.utf8.count > 256 { problems.append("expected a client id of at most 256 bytes") }
        if clientID.isEmpty, !cleanSession {
            problems.append(
                "a lasting session needs a client id: let an agent keep one in its state directory, set one, or set a "
                    + "clean session")
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
