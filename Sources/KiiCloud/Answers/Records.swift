public import KiiPush

/// The current record of a user, group or thing.
public struct CloudRecord<Handle: Sendable>: Sendable {
    /// The user, group or thing.
    public let handle: Handle
    /// All fields, in the server's order; keys that begin with `_` are Kii's own.
    public let fields: KeyedData

    /// The value of a field.
    public subscript(key: String) -> DataValue? { fields[key] }
}

/// A user's record.
public typealias UserRecord = CloudRecord<KiiUser>
/// A group's record.
public typealias GroupRecord = CloudRecord<KiiGroup>
/// A thing's record.
public typealias ThingRecord = CloudRecord<KiiThing>

/// The current record of an object.
public struct ObjectRecord: Sendable {
    /// The object.
    public let object: KiiObject
    /// Its own fields, in the server's order, without Kii's own, which begin with `_`.
    public let fields: KeyedData
    /// Its version, for a conditional write.
    public let version: String?
    /// When it was created, in milliseconds since 1970.
    public let createdAt: Int64?
    /// When it was last changed, in milliseconds since 1970, for `OwnWrite.done(modifiedAt:)`.
    public let modifiedAt: Int64?
    /// The id of the user or thing that owns it.
    public let owner: String?

    /// The value of one of its own fields.
    public subscript(key: String) -> DataValue? { fields[key] }

    init(_ object: KiiObject, _ response: HTTPResponse) throws(CloudError) {
        let all = try response.members()
        self.object = object
        fields = KeyedData(all.members.filter { !Self.reserved.contains($0.key) })
        version = response.version ?? all["_version"]?.string
        createdAt = all["_created"]?.integer
        modifiedAt = all["_modified"]?.integer
        owner = all["_owner"]?.string
    }

    // By name: the loop guard's stamp begins with an underscore too, but is not Kii's.
    private static let reserved: Set<String> = ["_id", "_created", "_modified", "_owner", "_dataType", "_version"]
}

/// The result of a write.
public struct Written: Sendable, Hashable {
    /// The written object; for a new one, with the id that the server assigned.
    public let object: KiiObject
    /// Whether the object is new.
    public let isNew: Bool
    /// Its new version.
    public let version: String?
    /// The time of the write by the server's clock, in milliseconds since 1970, for `OwnWrite.done(modifiedAt:)`.
    public let modifiedAt: Int64?

    init(_ object: KiiObject, _ response: HTTPResponse) throws(CloudError) {
        let fields = response.body.isEmpty ? [:] : try response.members()
        self.object = object
        isNew = response.status == 201
        version = response.version ?? fields["_version"]?.string
        modifiedAt = (fields["modifiedAt"] ?? fields["_modified"] ?? fields["createdAt"])?.integer
    }

    /// The result of a write that left this object.
    init(_ record: ObjectRecord, isNew: Bool) {
        object = record.object
        self.isNew = isNew
        version = record.version
        modifiedAt = record.modifiedAt
    }
}

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
        // Onboarding uses another name.
        secondsToLive = (fields["X-MQTT-TTL"] ?? fields["ttl"])?.integer
    }
}
