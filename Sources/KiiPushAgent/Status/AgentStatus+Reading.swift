import KiiPush
import KiiPushSystem

extension AgentStatus {
    /// Parses an agent's answer; nil if it is something else.
    ///
    /// Missing values, as from another version, count as empty; unknown ones are ignored.
    package init?(json: String) {
        let limits = PayloadLimits(bytes: 1 << 24, members: .max)
        guard let root = try? PlacedValue(Array(json.utf8), limits: limits), let since = root["since"]?.date,
            let process = root["process"]?.integer
        else { return nil }
        self.init()
        (self.since, self.process) = (since, process)
        (version, state) = (root["version"]?.text ?? "", root["state"]?.text ?? "")
        (uptime, isOpen) = (root.number("uptimeSeconds"), root["open"]?.flag ?? false)
        failures = root.objects("failures").compactMap(\.text)
        transports = root.objects("transports").map { link in
            Transport(
                name: link["name"]?.text ?? "",
                state: link["state"]?.text.flatMap { TransportLink.State(rawValue: $0) } ?? .starting,
                forSeconds: link.number("forSeconds"), detail: link["detail"]?.text,
                lastMessageAgo: link["lastMessageSecondsAgo"]?.integer, lastMessageAt: link["lastMessageAt"]?.date,
                messages: link.number("messages"))
        }
        if let rules = root["rules"], let digest = rules["digest"]?.text {
            self.rules = Rules(
                file: rules["file"]?.text ?? "", digest: digest,
                params: rules.objects("params").map { parameter in
                    Parameter(
                        name: parameter["name"]?.text ?? "", value: parameter["value"]?.text,
                        isSecret: parameter["secret"]?.flag ?? true)
                })
        }
        if let queue = root["queue"] { self.queue = Queue(queue) }
        routes = root.objects("routes").map { Route($0) }
        outcomes = root.objects("outcomes").map { count in
            Outcome(
                outcome: count["outcome"]?.text ?? "", reason: count["reason"]?.text, messages: count.number("messages")
            )
        }
        paced = root.objects("paced").map { key in
            Paced(
                level: key["level"]?.text ?? "", route: key["route"]?.text ?? "", subject: key["subject"]?.text ?? "",
                since: key.number("since"), waiting: key.number("waiting"), superseded: key.number("superseded"),
                why: key["why"]?.text ?? "")
        }
        kills = root.objects("kills").map { kill in
            Kill(
                target: kill["target"]?.text ?? "", until: kill["until"]?.date, isKnown: kill["known"]?.flag ?? true)
        }
        deadLetters = DeadLetters(
            count: root["deadLetters"]?["count"]?.integer, isFull: root["deadLetters"]?["full"]?.flag ?? false)
        gaps = root.objects("gaps").compactMap(\.text)
        shortages = root.objects("shortages").map { shortage in
            Shortage(
                kind: shortage["kind"]?.text ?? "", since: shortage["since"]?.date, what: shortage["what"]?.text ?? "")
        }
        silent = root.objects("silent").map { silence in
            Silence(route: silence["route"]?.text ?? "", forSeconds: silence.number("forSeconds"))
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
            id: value["id"]?.text ?? "", handled: value.number("handled"), failed: value.number("failed"),
            paced: value.number("paced"), expired: value.number("expired"), p50: value["p50"]?.fraction,
            p99: value["p99"]?.fraction, waitedP50: value["waitedP50"]?.fraction,
            waitedP99: value["waitedP99"]?.fraction, handlingSeconds: value["handlingSeconds"]?.fraction ?? 0)
    }
}
