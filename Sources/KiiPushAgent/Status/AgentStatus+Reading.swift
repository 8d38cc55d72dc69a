package import KiiPush
package import KiiPushSystem

extension AgentStatus {
    /// Parses an agent's answer, in which values may be missing or unknown, as from another version.
    package init?(json: String) {
        let limits = PayloadLimits(bytes: 1 << 24, members: .max)
        guard let root = DataValue(json: json, limits: limits), let since = root["since"]?.date,
            let process = root["process"]?.integer
        else { return nil }
        self.init()
        (self.since, self.process) = (since, process)
        (version, state) = (root.text("version"), root.text("state"))
        (uptime, isOpen) = (root.number("uptimeSeconds"), root["open"]?.bool ?? false)
        failures = root.objects("failures").compactMap(\.string)
        transports = root.objects("transports").map { link in
            Transport(
                name: link.text("name"),
                state: link["state"]?.string.flatMap { TransportLink.State(rawValue: $0) } ?? .starting,
                forSeconds: link.number("forSeconds"), detail: link["detail"]?.string,
                lastMessageAgo: link["lastMessageSecondsAgo"]?.integer, lastMessageAt: link["lastMessageAt"]?.date,
                messages: link.number("messages"))
        }
        if let rules = root["rules"], let digest = rules["digest"]?.string {
            self.rules = Rules(
                file: rules.text("file"), digest: digest,
                params: rules.objects("params").map { parameter in
                    Parameter(
                        name: parameter.text("name"), value: parameter["value"]?.string,
                        isSecret: parameter["secret"]?.bool ?? true)
                }, needRestart: rules.objects("needRestart").compactMap(\.string), refused: rules["refused"]?.string)
        }
        if let queue = root["queue"] { self.queue = Queue(queue) }
        routes = root.objects("routes").map { Route($0) }
        outcomes = root.objects("outcomes").map { count in
            Outcome(outcome: count.text("outcome"), reason: count["reason"]?.string, messages: count.number("messages"))
        }
        paced = root.objects("paced").map { key in
            Paced(
                level: key.text("level"), route: key.text("route"), subject: key.text("subject"),
                since: key.number("since"), waiting: key.number("waiting"), superseded: key.number("superseded"),
                why: key.text("why"))
        }
        kills = root.objects("kills").map { kill in
            Kill(target: kill.text("target"), until: kill["until"]?.date, isKnown: kill["known"]?.bool ?? true)
        }
        deadLetters = DeadLetters(
            count: root["deadLetters"]?["count"]?.integer, isFull: root["deadLetters"]?["full"]?.bool ?? false)
        gaps = root.objects("gaps").compactMap(\.string)
        shortages = root.objects("shortages").map { shortage in
            Shortage(kind: shortage.text("kind"), since: shortage["since"]?.date, what: shortage.text("what"))
        }
        silent = root.objects("silent").map { silence in
            Silence(route: silence.text("route"), forSeconds: silence.number("forSeconds"))
        }
        healed = root["healed"]?.string
        metricsFailure = root["metricsFailure"]?.string
    }
}

extension AgentStatus.Queue {
    fileprivate init(_ value: DataValue) {
        self.init(
            messages: value.number("messages"), bytes: value.number("bytes"), waiting: value.number("waiting"),
            handling: value.number("handling"), retrying: value.number("retrying"), paced: value.number("paced"),
            onDisk: value.number("onDisk"), recovering: value.number("recovering"),
            overrunning: value.number("overrunning"), isFull: value["full"]?.bool ?? false)
    }
}

extension AgentStatus.Route {
    fileprivate init(_ value: DataValue) {
        self.init(
            id: value.text("id"), handled: value.number("handled"), failed: value.number("failed"),
            paced: value.number("paced"), expired: value.number("expired"), p50: value["p50"]?.double,
            p99: value["p99"]?.double, waitedP50: value["waitedP50"]?.double,
            waitedP99: value["waitedP99"]?.double, handlingSeconds: value["handlingSeconds"]?.double ?? 0)
    }
}

/// Reads an agent's answers leniently: missing values, or those of another type, are nil, empty or zero.
extension DataValue {
    package func objects(_ key: String) -> [DataValue] {
        if case .array(let elements)? = self[key] { elements } else { [] }
    }

    package var date: UTCDate? { string.flatMap { UTCDate($0) } }

    package func number(_ key: String) -> Int64 { self[key]?.integer ?? 0 }
    package func text(_ key: String) -> String { self[key]?.string ?? "" }
}
