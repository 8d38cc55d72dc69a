// Writes rules as text: a route declared in code, and a parsed rule.

public import KiiPush

extension Route {
    /// The rule equivalent to this route, as one line of JSON.
    ///
    /// A route that code declares prints its own id as the handler's name. Parsing the text gives a rule that matches
    /// the same messages; only an empty pattern and an empty list, which match none, cannot be parsed.
    public var rule: String {
        if let rule = declaration as? RoutingRule { return rule.description }
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("id", id)
            writer.key("when")
            criteria.write(to: &writer)
            writer.key("then")
            RoutingRule.Action.handler(id).write(to: &writer)
            if flow == .continue { writer.member("continue", true) }
            if let delivery {
                writer.key("delivery")
                delivery.write(to: &writer)
            }
            if loop != .standard {
                writer.key("loop")
                loop.write(to: &writer)
            }
            dedupe?.write(to: &writer)
        }
        return writer.text
    }
}

extension RoutingRule: CustomStringConvertible {
    /// The rule as one line of JSON.
    public var description: String {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.text
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", id)
            writer.key("when")
            criteria.write(to: &writer)
            writer.key("then")
            action.write(to: &writer)
            if flow == .continue { writer.member("continue", true) }
            if !writes.isEmpty { writer.member("writes", writes.map(\.description)) }
            if let delivery {
                writer.key("delivery")
                delivery.write(to: &writer)
            }
            if let loop {
                writer.key("loop")
                loop.write(to: &writer)
            }
            dedupe?.write(to: &writer)
        }
    }
}

extension RouteDedupe {
    /// Writes the member `dedupe` of a rule.
    fileprivate func write(to writer: inout JSONWriter) {
        writer.key("dedupe")
        writer.object { $0.member("by", field) }
    }
}

extension RoutingRule.Action {
    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            switch self {
            case .handler(let name): writer.member("handler", name)
            case .run(let arguments): writer.member("run", arguments)
            case .print: writer.member("print", true)
            case .write(let write):
                writer.member("write") { writer in
                    writer.member("object", write.object.uri.description)
                    writer.key("fields")
                    writer.value(write.fields.source)
                    if write.replaces { writer.member("replace", true) }
                }
            case .send(let push):
                writer.member("send") { writer in
                    writer.member("topic", push.topic.uri.description)
                    if push.statesSender { writer.member("as", "\(push.sender.typeName):\(push.sender.id)") }
                    guard case .object(let members) = push.message.source else { return }
                    for (key, value) in members {
                        writer.key(key)
                        writer.value(value)
                    }
                }
            }
        }
    }
}

extension RouteLoopPolicy {
    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("ownBucket", ownBucket.rawValue)
            switch rate {
            case .guards: break
            case .unlimited: writer.member("rate", false)
            case .own(let rate):
                writer.key("rate")
                rate.write(to: &writer)
            }
        }
    }
}

extension LoopRate {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("messages", messages)
            writer.member("per", window.ruleText)
            writer.key("sustained")
            if let sustained {
                writer.object { writer in
                    writer.member("messages", sustained.messages)
                    writer.member("per", sustained.window.ruleText)
                }
            } else {
                writer.bool(false)
            }
            writer.member("coolDown", coolDown.ruleText)
        }
    }
}

extension DeliverySettings {
    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("attempts", attempts)
            writer.member("backoff", backoff.ruleText)
            writer.member("maxBackoff", maxBackoff.ruleText)
            writer.member("timeout", timeout.ruleText)
            writer.member("order", order.rawValue)
            writer.member("onFailure", onFailure.rawValue)
            if replacesOlder {
                writer.member("replacesOlder", true)
            }
            if let maxAge { writer.member("maxAge", maxAge.ruleText) }
        }
    }
}
