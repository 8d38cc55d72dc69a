import KiiPush

/// The registration of a device to which Kii sends pushes.
public struct Installation: Sendable, Hashable {
    /// The installation's id, which identifies its endpoint.
    public let id: String
}

/// The broker and the credentials for a device's pushes over MQTT.
public struct MQTTEndpoint: Sendable, Hashable {
    /// The broker's host.
    public let host: String
    /// The port for MQTT without TLS.
    public let portTCP: Int?
    /// The port for MQTT over TLS.
    public let portSSL: Int?
    /// The topic on which pushes arrive; it is also the client's id.
    public let topic: Secret
    /// The user's name at the broker.
    public let userName: Secret
    /// The password at the broker.
    public let password: Secret
    /// For how many seconds from now the endpoint is valid; nil if the server does not say.
    public let secondsToLive: Int64?
}

/// The server's answer to a request for an MQTT endpoint.
@nonexhaustive
public enum MQTTEndpointAnswer: Sendable, Hashable {
    /// The endpoint.
    case ready(MQTTEndpoint)
    /// The endpoint is still being created, as right after an installation: ask again after this many seconds.
    case notReady(retryAfter: Int?)
}

extension MQTTEndpoint {
    /// The endpoint as Kii's server sends it, one JSON object, for `kiipush receive --endpoint`.
    public var json: Secret {
        let text = JSONWriter.object { writer in
            writer.member("host", host)
            writer.member("mqttTopic", topic.revealed)
            writer.member("username", userName.revealed)
            writer.member("password", password.revealed)
            if let portTCP { writer.member("portTCP", portTCP) }
            if let portSSL { writer.member("portSSL", portSSL) }
            if let secondsToLive { writer.member("X-MQTT-TTL", secondsToLive) }
        }
        return Secret(text)
    }

    init(_ response: HTTPResponse) throws(CloudError) {
        let fields = try response.members(of: 200)
        func port(_ key: String) -> Int? {
            fields[key]?.integer.flatMap { (1...65_535).contains($0) ? Int($0) : nil }
        }
        host = try response.text("host", in: fields)
        topic = Secret(try response.text("mqttTopic", in: fields))
        userName = Secret(try response.text("username", in: fields))
        password = Secret(try response.text("password", in: fields))
        portTCP = port("portTCP")
        portSSL = port("portSSL")
        // Onboarding uses another name.
        secondsToLive = (fields["X-MQTT-TTL"] ?? fields["ttl"])?.integer
    }
}
