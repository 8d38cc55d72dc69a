import KiiPush
import KiiPushSystem

extension AgentStatus {
    /// The status as one object on one line; times of routes in milliseconds.
    package var json: String {
        JSONWriter.object { writer in
            writer.member("version", version)
            writer.member("process", process)
            writer.member("state", state)
            writer.member("since", since.description)
            writer.member("uptimeSeconds", uptime)
            writer.member("healthy", isHealthy)
            writer.member("problems", problems)
            writer.member("open", isOpen)
            writer.member("failures", failures)
            writer.key("rules")
            if let rules { rules.write(&writer) } else { writer.null() }
            writer.objects("transports", transports) { writer, link in
                writer.member("name", link.name)
                writer.member("state", link.state.rawValue)
                writer.member("forSeconds", link.forSeconds)
                writer.member("detail", link.detail)
                writer.member("lastMessageAt", link.lastMessageAt?.description)
                writer.member("lastMessageSecondsAgo", link.lastMessageAgo)
                writer.member("messages", link.messages)
            }
            writer.member("queue") { writer in queue.write(&writer) }
            writer.objects("routes", routes) { writer, route in route.write(&writer) }
            writer.objects("outcomes", outcomes) { writer, count in
                writer.member("outcome", count.outcome)
                writer.member("reason", count.reason)
                writer.member("messages", count.messages)
            }
            writer.objects("paced", paced) { writer, key in
                writer.member("level", key.level)
                writer.member("route", key.route)
                writer.member("subject", key.subject)
                writer.member("since", key.since)
                writer.member("waiting", key.waiting)
                writer.member("superseded", key.superseded)
                writer.member("why", key.why)
            }
            writer.objects("kills", kills) { writer, kill in
                writer.member("target", kill.target)
                writer.member("until", kill.until?.shortText)
                writer.member("known", kill.isKnown)
            }
            writer.member("deadLetters") { writer in
                writer.member("count", deadLetters.count)
                writer.member("full", deadLetters.isFull)
            }
            writer.member("gaps", gaps)
            writer.objects("shortages", shortages) { writer, shortage in
                writer.member("kind", shortage.kind)
                writer.member("since", shortage.since?.description)
                writer.member("what", shortage.what)
            }
            writer.objects("silent", silent) { writer, silence in
                writer.member("route", silence.route)
                writer.member("forSeconds", silence.forSeconds)
            }
            writer.member("healed", healed)
            writer.member("metricsFailure", metricsFailure)
        }
    }
}

extension AgentStatus.Rules {
    fileprivate func write(_ writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("file", file)
            writer.member("digest", digest)
            writer.member("needRestart", needRestart)
            writer.member("refused", refused)
            writer.objects("params", params) { writer, parameter in
                writer.member("name", parameter.name)
                writer.member("value", parameter.value)
                writer.member("secret", parameter.isSecret)
            }
        }
    }
}

extension AgentStatus.Queue {
    fileprivate func write(_ writer: inout JSONWriter) {
        writer.member("messages", messages)
        writer.member("bytes", bytes)
        writer.member("waiting", waiting)
        writer.member("handling", handling)
        writer.member("retrying", retrying)
        writer.member("paced", paced)
        writer.member("onDisk", onDisk)
        writer.member("recovering", recovering)
        writer.member("overrunning", overrunning)
        writer.member("full", isFull)
    }
}

extension AgentStatus.Route {
    fileprivate func write(_ writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("handled", handled)
        writer.member("failed", failed)
        writer.member("paced", paced)
        writer.member("expired", expired)
        for (name, value) in [("p50", p50), ("p99", p99), ("waitedP50", waitedP50), ("waitedP99", waitedP99)] {
            writer.member(name, value)
        }
        writer.member("handlingSeconds", handlingSeconds)
    }
}
