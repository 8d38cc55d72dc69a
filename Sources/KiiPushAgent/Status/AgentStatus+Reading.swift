package import KiiPush
package import KiiPushSystem

extension AgentStatus {
    /// Parses an agent's answer, in which values may be missing or unknown, as from another version.
    package init?(json: String) {
        let limits = PayloadLimits(bytes: 1 << 24, members: .max)
        guard let root = try? PlacedValue(Array(json.utf8), limits: limits), let since = root["since"]?.date,
            let process = root["process"]?.integer
        else { return nil }
        self.init()
        (self.since, self.process) = (since, process)
        (version, state) = (root.string("version"), root.string("state"))
        (uptime, isOpen) = (root.number("uptimeSeconds"), root["open"]?.flag ?? false)
        failures = root.objects("failures").compactMap(\.text)
        transports = root.objects("transports").map { link in
            Transport(
                name: link.string("name"),
                state: link["state"]?.text.flatMap { TransportLink.State(rawValue: $0) } ?? .starting,
                forSeconds: link.number("forSeconds"), detail: link["detail"]?.text,
                lastMessageAgo: link["lastMessageSecondsAgo"]?.integer, lastMessageAt: link["lastMessageAt"]?.date,
                messages: link.number("messages"))
        }
        if let rules = root["rules"], let digest = rules["digest"]?.text {
            self.rules = Rules(
                file: rules.string("file"), digest: digest,
                params: rules.objects("params").map { parameter in
                    Parameter(
                        name: parameter.string("name"), value: parameter["value"]?.text,
                        isSecret: parameter["secret"]?.flag ?? true)
                }, needRestart: rules.objects("needRestart").compactMap(\.text))
        }
        if let queue = root["queue"] { self.queue = Queue(queue) }
        routes = root.objects("routes").map { Route($0) }
        outcomes = root.objects("outcomes").map { count in
            Outcome(outcome: count.string("outcome"), reason: count["reason"]?.text, messages: count.number("messages"))
        }
        paced = root.objects("paced").map { key in
            Paced(
                level: key.string("level"), route: key.string("route"), subject: key.string("subject"),
                since: key.number("since"), waiting: key.number("waiting"), superseded: key.number("superseded"),
                why: key.string("why"))
        }
        kills = root.objects("kills").map { kill in
            Kill(target: kill.string("target"), until: kill["until"]?.date, isKnown: kill["known"]?.flag ?? true)
        }
        deadLetters = DeadLetters(
            count: root["deadLetters"]?["count"]?.integer, isFull: root["deadLetters"]?["full"]?.flag ?? false)
        gaps = root.objects("gaps").compactMap(\.text)
        shortages = root.objects("shortages").map { shortage in
            Shortage(kind: shortage.string("kind"), since: shortage["since"]?.date, what: shortage.string("what"))
        }
        silent = root.objects("silent").map { silence in
            Silence(route: silence.string("route"), forSeconds: silence.number("forSeconds"))
        }
        healed = root["healed"]?.text
        metricsFailure = root["metricsFailure"]?.text
    }
}

extension AgentStatus.Queue {
    fileprivate init(_ value: PlacedValue) {
        self.init(
            messages: value.number("messages"), bytes: value.number("bytes"), waiting: value.number("waiting"),
            handling: value.number("handling"), retrying: value.number("retrying"), paced: value.number("paced"),
            onDisk: value.number("onDisk"), overrunning: value.number("overrunning"),
            isFull: value["full"]?.flag ?? false)
    }
}

extension AgentStatus.Route {
    fileprivate init(_ value: PlacedValue) {
        self.init(
            id: value.string("id"), handled: value.number("handled"), failed: value.number("failed"),
            paced: value.number("paced"), expired: value.number("expired"), p50: value["p50"]?.fraction,
            p99: value["p99"]?.fraction, waitedP50: value["waitedP50"]?.fraction,
            waitedP99: value["waitedP99"]?.fraction, handlingSeconds: value["handlingSeconds"]?.fraction ?? 0)
    }
}

/// Reads an agent's answers leniently: missing values, or those of another type, are nil, empty or zero.
extension PlacedValue {
    package subscript(key: String) -> PlacedValue? {
        guard case .object(let members) = content else { return nil }
        return members.first { $0.key == key }?.value
    }

    package func objects(_ key: String) -> [PlacedValue] {
        guard case .array(let elements)? = self[key]?.content else { return [] }
        return elements
    }

    package var text: String? { if case .string(let text) = content { text } else { nil } }
    package var flag: Bool? { if case .bool(let flag) = content { flag } else { nil } }
    package var integer: Int64? { if case .number(let text) = content { Int64(text) } else { nil } }
    package var fraction: Double? { if case .number(let text) = content { Double(text) } else { nil } }
    package var date: UTCDate? { text.flatMap { UTCDate($0) } }

    package func number(_ key: String) -> Int64 { self[key]?.integer ?? 0 }
    package func string(_ key: String) -> String { self[key]?.text ?? "" }
}
