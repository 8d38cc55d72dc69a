// Reads what an MQTT broker says, in conditions and in tests, and rules for gaps.

import KiiPush

extension RulesReader {
    mutating func mqtt(_ node: PlacedValue) -> MQTTPattern? {
        let keys = ["topic", "retained", "contentType", "userProperties"]
        let what = "an object with \(keys.joined(separator: ", "))"
        guard let object = object(node, what, keys: keys) else { return nil }
        if object.members.isEmpty { report(node.offset, "expected a condition, found none") }
        var pattern = MQTTPattern()
        if let topics = object["topic"] { pattern.topics = texts(topics, "a topic filter").compactMap { filter($0) } }
        pattern.isRetained = object["retained"].flatMap { bool($0) }
        pattern.contentType = object["contentType"].flatMap { self.pattern($0, "a content type") }
        for member in object["userProperties"].flatMap({ self.object($0, "an object with names")?.members }) ?? [] {
            // As strings they are equal, and to a broker they are not.
            if pattern.userProperties[member.key] != nil {
                report(
                    member.keyOffset,
                    "the key '\(Suggestion.shown(member.key))' is an earlier one with other bytes; leave one out")
            }
            pattern.userProperties[member.key] = self.pattern(member.value, "the value of a user property")
        }
        return pattern
    }

    private mutating func filter(_ text: RulesText) -> MQTTTopicFilter? {
        do throws(MQTTTopicFilter.Problem) { return try MQTTTopicFilter(text.text) } catch {
            return refuse(text.node.offset, error.description)
        }
    }

    private static let publishKeys = [
        "topic", "retained", "expirySeconds", "contentType", "responseTopic", "correlationData", "userProperties",
    ]

    /// What a broker says of a message, in a step of a test, as captures have it.
    mutating func publish(_ node: PlacedValue) -> MQTTPublish? {
        guard let object = object(node, "an object with topic", keys: Self.publishKeys) else { return nil }
        guard required("topic", of: object) != nil else { return nil }
        guard let publish = MQTTPublish(node.value) else {
            return refuse(
                node.offset,
                "expected an object with the texts topic, contentType, responseTopic and correlationData (Base64), "
                    + "retained as true or false, a number expirySeconds, and userProperties as a list of "
                    + "[name, value]")
        }
        return publish
    }

    /// The key `on` of a rule: `"gap"`, which restricts the conditions to what a gap has.
    mutating func on(_ node: PlacedValue, _ conditions: [RoutingRule.Condition]) -> Bool {
        guard choice(node, "kind of rule", [("gap", true)]) == true else { return false }
        let keys = ["transport", "data", "any", "all", "not"]
        for condition in conditions {
            let key = condition.name.split(separator: "/").last.map { String($0) } ?? ""
            guard !keys.containsExactly(key) else { continue }
            let what = "a gap has no '\(key)'; expected one of \(keys.joined(separator: ", "))"
            report(RulesError.Problem(file: source.file, position: condition.position, what: what))
        }
        return true
    }
}

extension MQTTPattern {
    /// Writes the condition as the rules file does.
    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            if !topics.isEmpty { writer.member("topic", topics.map(\.text)) }
            if let isRetained { writer.member("retained", isRetained) }
            if let contentType {
                writer.key("contentType")
                writer.pattern(contentType)
            }
            guard !userProperties.isEmpty else { return }
            writer.member("userProperties") { writer in
                for (name, value) in userProperties.sorted(by: { $0.key < $1.key }) {
                    writer.key(name)
                    writer.pattern(value)
                }
            }
        }
    }
}
