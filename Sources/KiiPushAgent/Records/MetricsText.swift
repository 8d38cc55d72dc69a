import KiiPush
import KiiPushDelivery
import KiiPushSystem

/// Metrics in the text format of Prometheus.
enum MetricsText {
    static func text(
        _ metrics: Metrics, _ status: ServiceStatus, _ counts: ServiceCounts?, _ paced: [PacedKey],
        _ times: [String: RouteLatencies.Times], _ gauges: MetricsGauges
    ) -> String {
        var text = ""
        // "paced" is not final: such messages are counted among the service's messages.
        let ended = metrics.outcomes.filter { $0.outcome != "paced" }
        text += family(
            "messages_total", .counter, "Messages that have ended.",
            ended.map { ([("outcome", $0.outcome), ("reason", $0.reason ?? "")], $0.messages) })
        text += family(
            "format_messages_total", .counter, "Messages of a format that have ended.",
            metrics.formats.sorted { $0.key < $1.key }.map { ([("format", $0.key)], $0.value) })
        text += routes(metrics.routes)
        text += service(status)
        text += loops(paced)
        text += latencies(times)
        text += told(gauges)
        if let counts {
            text += links(counts)
            text += told(counts.counts)
        }
        return text
    }

    /// The shortages of a program.
    package static func text(_ shortages: Shortages) -> String {
        let kinds = Shortage.Kind.allCases
        return family(
            "shortage", .gauge, "1 while the agent is short of the resource and waits.",
            kinds.map { ([("kind", $0.rawValue)], shortages.isShort(of: $0) ? 1 : 0) })
            + family(
                "shortages_total", .counter, "Shortages of the resource that have begun.",
                kinds.map { ([("kind", $0.rawValue)], shortages.begun($0)) })
    }

    static func text(droppedLines: Int) -> String {
        family(
            "log_lines_dropped_total", .counter, "Log lines that were dropped because nobody read them.",
            [([], droppedLines)])
    }

    private static func routes(_ routes: [Metrics.RouteCount]) -> String {
        func samples(_ count: (Metrics.RouteCount) -> Int) -> [Sample] {
            routes.map { ([("route", $0.route)], count($0)) }
        }
        return family("route_handled_total", .counter, "How often a route's handler succeeded.", samples(\.handled))
            + family("route_failed_total", .counter, "How often a route's handler failed.", samples(\.failed))
            + family("route_paced_total", .counter, "How many messages had to wait for their pace.", samples(\.paced))
            + family(
                "route_expired_total", .counter, "How often a message was too old for a route.", samples(\.expired))
    }

    private static func service(_ status: ServiceStatus) -> String {
        let states = [
            ("waiting", status.waiting), ("handling", status.handling), ("retrying", status.retrying),
            ("paced", status.paced), ("onDisk", status.onDisk),
        ]
        return family(
            "service_messages", .gauge, "Messages that have not ended.", states.map { ([("state", $0.0)], $0.1) })
            + family("service_payloads", .gauge, "Accepted payloads that have not ended.", [([], status.messages)])
            + family(
                "service_bytes", .gauge, "Bytes of the accepted payloads that have not ended.", [([], status.bytes)])
            + family(
                "service_overrunning", .gauge, "Handlers that have exceeded their timeout.", [([], status.overrunning)])
            + family("service_open", .gauge, "1 while payloads are accepted.", [([], status.isOpen ? 1 : 0)])
    }

    private static func loops(_ paced: [PacedKey]) -> String {
        let levels = Dictionary(grouping: paced, by: \.level.rawValue).sorted { $0.key < $1.key }
        return family(
            "loop_paced", .gauge, "Messages that the loop guard lets wait, by what they have in common.",
            levels.map { ([("level", $0.key)], $0.value.reduce(0) { $0 + $1.waiting }) })
    }

    private static func latencies(_ times: [String: RouteLatencies.Times]) -> String {
        let routes = times.sorted { $0.key < $1.key }
        return histograms(
            "route_waiting_seconds", "From a message's arrival to a route's first attempt.",
            routes.map { ($0.key, $0.value.waiting) })
            + histograms(
                "route_handling_seconds", "The duration of each run of a route's handler.",
                routes.map { ($0.key, $0.value.handling) })
    }

    private static func histograms(
        _ name: String, _ help: String, _ histograms: [(route: String, histogram: LatencyHistogram)]
    ) -> String {
        guard !histograms.isEmpty else { return "" }
        var text = "# HELP kiipush_\(name) \(help)\n# TYPE kiipush_\(name) histogram\n"
        for (route, histogram) in histograms {
            let label = "route=\"\(escaped(route))\""
            var below = 0
            for (index, bucket) in histogram.buckets.enumerated() {
                below += bucket
                let bound = index < LatencyHistogram.bounds.count ? seconds(LatencyHistogram.bounds[index]) : "+Inf"
                text += "kiipush_\(name)_bucket{\(label),le=\"\(bound)\"} \(below)\n"
            }
            text += "kiipush_\(name)_sum{\(label)} \(seconds(histogram.sum))\n"
            text += "kiipush_\(name)_count{\(label)} \(histogram.count)\n"
        }
        return text
    }

    private static func told(_ gauges: MetricsGauges) -> String {
        family(
            "dead_letters", .gauge, "Dead letters in the store.", gauges.deadLetters.map { [([], $0)] } ?? [])
            + family(
                "dead_letters_full", .gauge, "1 when the dead-letter store has no capacity.",
                gauges.areDeadLettersFull.map { [([], $0 ? 1 : 0)] } ?? [])
            + family(
                "healthy", .gauge, "1 while the agent is healthy.", gauges.isHealthy.map { [([], $0 ? 1 : 0)] } ?? [])
            + family("kills", .gauge, "Entries of the kill switch.", gauges.kills.map { [([], $0)] } ?? [])
            + family(
                "silent", .gauge, "1 while a route, or the agent, has been silent for longer than its limit.",
                gauges.silent.sorted { $0.key < $1.key }.map { ([("route", $0.key)], $0.value ? 1 : 0) })
    }

    private static func links(_ counts: ServiceCounts) -> String {
        let (links, now) = (counts.links, counts.clock.now)
        func age(_ instant: MonotonicInstant) -> Int { max(0, Int(instant.duration(to: now).components.seconds)) }
        func samples(_ value: (TransportLink) -> Int) -> [Sample] {
            links.map { ([("transport", $0.name)], value($0)) }
        }
        return family("uptime_seconds", .gauge, "Seconds since the agent started.", [([], age(counts.beginning))])
            + family("transport_up", .gauge, "1 while the link is up.", samples { $0.isUp ? 1 : 0 })
            + family(
                "transport_silence_seconds", .gauge, "Seconds since the last payload, or since the start.",
                samples { age($0.lastMessageAt ?? counts.beginning) })
            + family("transport_payloads_total", .counter, "Payloads that were accepted.", samples(\.messages))
    }

    private static func told(_ counts: ServiceCounts.State) -> String {
        let transports = counts.events.sorted { $0.key < $1.key }.flatMap { name, counts in
            ["connected", "disconnected", "refused", "possibleGap", "ignored"].map { event in
                ([("transport", name), ("event", event)], counts[event] ?? 0)
            }
        }
        return family(
            "retries_total", .counter, "Attempts that failed and were followed by another.", [([], counts.retries)])
            + family("overruns_total", .counter, "Handlers that exceeded their timeout.", [([], counts.overruns)])
            + family(
                "store_failures_total", .counter, "Failures of the inbox and of the dead-letter store.",
                [([], counts.storeFailures)])
            + family("transport_events_total", .counter, "Events that transports reported.", transports)
    }

    // MARK: The format

    private typealias Sample = (labels: [(String, String)], value: Int)

    private enum Kind: String {
        case counter, gauge
    }

    private static func family(_ name: String, _ kind: Kind, _ help: String, _ samples: [Sample]) -> String {
        guard !samples.isEmpty else { return "" }
        var text = "# HELP kiipush_\(name) \(help)\n# TYPE kiipush_\(name) \(kind.rawValue)\n"
        for (labels, value) in samples {
            let list = labels.map { "\($0)=\"\(escaped($1))\"" }.joined(separator: ",")
            text += "kiipush_\(name)\(list.isEmpty ? "" : "{\(list)}") \(value)\n"
        }
        return text
    }

    /// Nanoseconds as seconds with a fraction, as the format writes numbers.
    private static func seconds(_ nanoseconds: Int64) -> String {
        let text = "\(Double(nanoseconds) / 1_000_000_000)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// A label's value, escaped for the format.
    private static func escaped(_ text: String) -> String {
        text.replacingScalars { scalar in
            switch scalar {
            case "\\": "\\\\"
            case "\"": "\\\""
            case "\n": "\\n"
            default: nil
            }
        }
    }
}
