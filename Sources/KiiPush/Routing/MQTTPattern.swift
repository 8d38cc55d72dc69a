/// A condition on what an MQTT broker said of a message; a message of another transport never meets it.
public struct MQTTPattern: Sendable, Hashable {
    /// The topic filters of which one must match; none for any topic.
    package var topics: [MQTTTopicFilter]
    /// Whether it must, or must not, be a retained message; nil for both.
    package var isRetained: Bool?
    /// The content types that match; nil for any, or none.
    package var contentType: TextPattern?
    /// The values that the first user property of each name must have.
    package var userProperties: [String: TextPattern]

    /// Makes a condition; everything that is given must hold.
    public init(
        topic topics: MQTTTopicFilter..., isRetained: Bool? = nil, contentType: TextPattern? = nil,
        userProperties: [String: TextPattern] = [:]
    ) {
        (self.topics, self.isRetained) = (topics, isRetained)
        (self.contentType, self.userProperties) = (contentType, userProperties)
    }

    /// Whether a message meets it.
    package func matches(_ publish: MQTTPublish?) -> Bool {
        guard let publish, topics.isEmpty || topics.contains(where: { $0.matches(publish.topic) }),
            isRetained == nil || isRetained == publish.isRetained
        else { return false }
        if let contentType, publish.contentType.map({ contentType.matches($0) }) != true { return false }
        return userProperties.allSatisfy { name, value in publish[name].map { value.matches($0) } == true }
    }
}

extension MQTTTopicFilter: ExpressibleByStringLiteral {
    /// Reads a filter in a program's text; ends the program if brokers refuse it.
    public init(stringLiteral text: String) {
        do throws(Problem) { try self.init(text) } catch {
            preconditionFailure("the topic filter \"\(text)\" is none: \(error)")
        }
    }
}
