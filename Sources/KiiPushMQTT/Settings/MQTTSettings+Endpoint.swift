import KiiPush
import KiiPushSystem

extension MQTTSettings {
    /// The size limit of an endpoint in bytes: 64 KiB.
    package static let endpointLimit = 65_536

    /// Reads a file with the answer of Kii's cloud to a request for an endpoint.
    ///
    /// - Parameter path: the file; a name without a slash is first searched in `$CREDENTIALS_DIRECTORY`. A file with a
    ///   password must belong to this user or root, and be readable by nobody else.
    /// - Throws: ``MQTTSettingsError``.
    public init(endpointFile path: String) throws(MQTTSettingsError) {
        let source = EscapedText(path).description
        let file: SecretFile
        do throws(ReadError) { file = try SecretFile(path, limit: Self.endpointLimit) } catch {
            throw MQTTSettingsError(error.description)
        }
        try self.init(endpoint: file.bytes, source: source)
        if password != nil, let exposure = file.exposure { throw MQTTSettingsError(exposure.description) }
    }

    /// Parses the answer of Kii's cloud to a request for an endpoint: `{"host":…,"portSSL":…,"mqttTopic":…}`.
    ///
    /// It uses `host`, `portTCP`, `portSSL`, `username`, `password` and `mqttTopic`; optional keys are `caFile`,
    /// `certificateFile` and `keyFile`, `keepAlive`, `version` (`"3.1"`, `"3.1.1"`, `"5"`) and `cleanSession`, like the
    /// properties of these names. Other keys are ignored, since Kii may add some, and null counts as absent. If
    /// `portSSL` is present, it is used, with TLS. The client id is the topic, as Kii's brokers require, and the
    /// default version is 3.1.
    ///
    /// - Parameters:
    ///   - endpoint: the JSON text, at most 64 KiB.
    ///   - source: the name of the endpoint in errors, such as its path.
    /// - Throws: ``MQTTSettingsError`` with every problem and its position.
    public init(endpoint: [UInt8], source: String) throws(MQTTSettingsError) {
        var reader = try EndpointReader(endpoint, source)
        let host = reader.text("host", "the broker's host")
        let topic = reader.text("mqttTopic", "the topic")
        let securePort = reader.integer("portSSL", in: 1...65_535)
        let plainPort = reader.integer("portTCP", in: 1...65_535)
        let user = reader.text("username", "the user")
        let password = reader.text("password", "the password")
        let caFile = reader.text("caFile", "a file's path")
        let certificateFile = reader.text("certificateFile", "a file's path")
        let keyFile = reader.text("keyFile", "a file's path")
        let keepAlive = reader.integer("keepAlive", in: 5...65_535)
        let version = reader.version()
        let cleanSession = reader.bool("cleanSession")
        reader.requireKeys()
        if let topic, let what = Self.wrong(topic: topic) { reader.report("mqttTopic", what) }
        if let password, let what = Self.wrong(password: password) { reader.report("password", what) }
        guard reader.problems.isEmpty, let host, let topic, let port = securePort ?? plainPort else {
            throw MQTTSettingsError(reader.problems)
        }
        self.init(host: host, port: port, topic: topic, usesTLS: securePort != nil)
        self.user = user
        self.password = password.map { .text($0) }
        (self.caFile, self.certificateFile, self.keyFile) = (caFile, certificateFile, keyFile)
        clientID = topic
        self.version = version ?? .v31
        self.keepAlive = keepAlive ?? 60
        self.cleanSession = cleanSession ?? false
    }
}

/// Reads an endpoint's members and collects the problems.
private struct EndpointReader {
    let bytes: [UInt8]
    let source: String
    let members: [PlacedValue.Member]
    var problems: [MQTTSettingsError.Problem] = []

    init(_ bytes: [UInt8], _ source: String) throws(MQTTSettingsError) {
        (self.bytes, self.source) = (bytes, source)
        let root: PlacedValue
        do throws(DecodeError) {
            root = try PlacedValue(bytes, limits: PayloadLimits(bytes: MQTTSettings.endpointLimit))
        } catch {
            throw MQTTSettingsError(source, SourcePosition(error.offset, in: bytes), error.detail)
        }
        guard let members = root.members else {
            throw MQTTSettingsError(
                source, SourcePosition(root.offset, in: bytes), "expected Kii's endpoint, an object")
        }
        self.members = members
        var keys: Set<ExactText> = []
        for member in members where !keys.insert(ExactText(member.key)).inserted {
            report(member.keyOffset, "duplicate key '\(Suggestion.shown(member.key))'")
        }
    }

    mutating func report(_ offset: Int, _ what: String) {
        problems.append(.init(source: source, position: SourcePosition(offset, in: bytes), what: what))
    }

    mutating func report(_ key: String, _ what: String) { report(self[key]?.offset ?? 0, what) }

    private subscript(key: String) -> PlacedValue? {
        guard let value = members.first(where: { $0.key.isExactly(key) })?.value else { return nil }
        if case .null = value.value { return nil }
        return value
    }

    mutating func requireKeys() {
        for key in ["host", "mqttTopic"] where self[key] == nil { report(0, "the key '\(key)' is missing") }
        if self["portSSL"] == nil, self["portTCP"] == nil {
            report(0, "the key 'portSSL' is missing, and so is 'portTCP'")
        }
        if self["password"] != nil, self["username"] == nil { report("password", "a password needs a 'username'") }
    }

    /// The value of a key, as `read` takes it; reports one that it does not take.
    private mutating func value<Value>(
        _ key: String, _ expected: String, _ read: (DataValue) -> Value?
    ) -> Value? {
        guard let value = self[key] else { return nil }
        if let taken = read(value.value) { return taken }
        report(key, "'\(key)': expected \(expected)")
        return nil
    }

    mutating func text(_ key: String, _ what: String) -> String? {
        let text = value(key, "\(what), a string with something in it") { content in
            if case .string(let text) = content, !text.isEmpty { text } else { nil }
        }
        // A password may contain characters that a line of text may not.
        guard let text, key != "password", let wrong = MQTTSettings.wrong(text: text, "text") else { return text }
        report(key, "'\(key)': \(wrong)")
        return nil
    }

    mutating func integer(_ key: String, in range: ClosedRange<Int>) -> Int? {
        value(key, "a whole number from \(range.lowerBound) to \(range.upperBound)") { content in
            if case .number(let text) = content, let number = Int(text), range.contains(number) { number } else { nil }
        }
    }

    mutating func bool(_ key: String) -> Bool? {
        value(key, "true or false") { content in if case .bool(let bool) = content { bool } else { nil } }
    }

    mutating func version() -> MQTTSettings.Version? {
        value("version", "\"3.1\", \"3.1.1\" or \"5\"") { content in
            switch content {
            case .string(let text), .number(let text): MQTTSettings.Version(rawValue: text)
            default: nil
            }
        }
    }
}
