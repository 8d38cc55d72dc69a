/// What an MQTT broker says of a message beside its payload: the topic, and with MQTT 5 its properties.
///
/// A handler finds it in ``HandlerContext/mqtt``, a rule's condition in `mqtt`, a program in the member `mqtt` of its
/// input. Inboxes, dead letters and captures keep it with the payload. Nothing in it takes part in
/// classification, since it comes from whoever may publish; in deduplication, only response topic and correlation data.
public struct MQTTPublish: Sendable, Hashable {
    /// A name and a value that the publisher added; names may repeat.
    public struct UserProperty: Sendable, Hashable {
        /// The property's name.
        public var name: String
        /// Its value.
        public var value: String

        /// Makes a property.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The most bytes of all texts and of the correlation data, with 64 for each user property; a transport leaves out
    /// properties beyond that.
    package static let mostBytes = 16_384

    /// The topic that it was published to, without wildcards.
    public var topic: String
    /// Whether it is the topic's retained message, which was published before the subscription.
    public var isRetained = false
    /// How long after its arrival it is valid, in seconds: what the broker left of the publisher's time; nil for ever.
    public var expirySeconds: UInt32?
    /// The MIME type of the payload, if the publisher named one.
    public var contentType: String?
    /// Where the publisher waits for an answer; nil if it waits for none.
    public var responseTopic: String?
    /// What an answer must repeat, so that the publisher recognises it.
    public var correlationData: [UInt8]?
    /// The publisher's own properties, in its order.
    public var userProperties: [UserProperty] = []

    /// Describes a message of a topic.
    public init(topic: String) { self.topic = topic }

    /// The value of the first user property with this name; nil without one.
    public subscript(name: String) -> String? { userProperties.first { $0.name.isExactly(name) }?.value }

    /// Its size, as ``mostBytes`` limits it.
    package var bytes: Int {
        userProperties.reduce(
            topic.utf8.count + (contentType?.utf8.count ?? 0) + (responseTopic?.utf8.count ?? 0)
                + (correlationData?.count ?? 0)
        ) { $0 + 64 + $1.name.utf8.count + $1.value.utf8.count }
    }
}

extension MQTTPublish {
    /// The JSON object in captures, stores, and the input of programs: only the members that are set.
    ///
    /// `{"topic":"cmd/a/set","retained":true,"expirySeconds":5,"contentType":"…","responseTopic":"…",
    /// "correlationData":"Base64","userProperties":[["name","value"]]}`
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("topic", topic)
            if isRetained { writer.member("retained", true) }
            if let expirySeconds { writer.member("expirySeconds", Int(expirySeconds)) }
            if let contentType { writer.member("contentType", contentType) }
            if let responseTopic { writer.member("responseTopic", responseTopic) }
            if let correlationData { writer.member("correlationData", Base64.encode(correlationData)) }
            guard !userProperties.isEmpty else { return }
            writer.member(
                "userProperties", value: .array(userProperties.map { .array([.string($0.name), .string($0.value)]) }))
        }
    }

    package var json: String {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.text
    }

    package init?(json: String) {
        guard let value = DataValue(json: json) else { return nil }
        self.init(value)
    }

    /// Reads such an object; nil if it is none, or has a member of another type.
    package init?(_ value: DataValue) {
        guard case .object(let members) = value, case .string(let topic)? = value["topic"] else { return nil }
        self.init(topic: topic)
        for (key, value) in members {
            switch (key, value) {
            case ("contentType", .string(let text)): contentType = text
            case ("responseTopic", .string(let text)): responseTopic = text
            case ("correlationData", .string(let text)):
                guard let bytes = try? Base64.decode(text.utf8.span, base: 0) else { return nil }
                correlationData = bytes
            case ("retained", .bool(let isRetained)): self.isRetained = isRetained
            case ("expirySeconds", .number(let number)):
                guard let seconds = UInt32(number) else { return nil }
                expirySeconds = seconds
            case ("userProperties", .array(let pairs)):
                for pair in pairs {
                    guard case .array(let two) = pair, two.count == 2, case .string(let name) = two[0],
                        case .string(let value) = two[1]
                    else { return nil }
                    userProperties.append(UserProperty(name: name, value: value))
                }
            case ("contentType", _), ("responseTopic", _), ("correlationData", _), ("retained", _),
                ("expirySeconds", _), ("userProperties", _):
                return nil
            default: break
            }
        }
    }
}
