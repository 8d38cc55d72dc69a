import KiiPush

/// A device's place in the list of those that Kii sends to.
public struct Installation: Sendable, Hashable {
    /// The installation's id, by which its endpoint is asked for.
    public let id: String
    /// The device's own id in its network; the server makes one for MQTT.
    public let registrationID: String?
}

/// Where a device gets its pushes over MQTT.
public struct MQTTEndpoint: Sendable, Hashable {
    /// The broker's host.
    public let host: String
    /// The port for MQTT without TLS.
    public let portTCP: Int?
    /// The port for MQTT over TLS.
    public let portSSL: Int?
    /// The topic on which pushes come, which is the client's id too.
    public let topic: Secret
    /// The user's name at the broker.
    public let userName: Secret
    /// The password at the broker.
    public let password: Secret
    /// How many seconds the endpoint holds from now; nil where the server does not say.
    public let secondsToLive: Int64?
}

/// What the server says when it is asked for an MQTT endpoint.
public enum MQTTEndpointAnswer: Sendable, Hashable {
    /// The endpoint.
    case ready(MQTTEndpoint)
    /// The endpoint is being made, as it is right behind an installation: ask again after so many seconds.
    case notReady(retryAfter: Int?)
}

extension MQTTEndpoint {
    /// The endpoint as Kii's server gives it, one object of JSON: what `kiipush receive --endpoint` reads from a file.
    public var json: Secret {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("host", host)
            writer.member("mqttTopic", topic.revealed)
            writer.member("username", userName.revealed)
            writer.member("password", password.revealed)
            if let portTCP { writer.member("portTCP", portTCP) }
            if let portSSL { writer.member("portSSL", portSSL) }
            if let secondsToLive { writer.member("X-MQTT-TTL", secondsToLive) }
        }
        return Secret(writer.text)
    }

    init(_ response: HTTPResponse) throws(CloudError) {
        let fields = try response.members()
        func port(_ key: String) -> Int? {
            fields[key]?.integer.flatMap { (1...65_535).contains($0) ? Int($0) : nil }
        }
        host = try response.text("host", in: fields)
        topic = Secret(try response.text("mqttTopic", in: fields))
        userName = Secret(try response.text("username", in: fields))
        password = Secret(try response.text("password", in: fields))
        portTCP = port("portTCP")
        portSSL = port("portSSL")
        // Onboarding calls it otherwise.
        secondsToLive = (fields["X-MQTT-TTL"] ?? fields["ttl"])?.integer
    }
}
