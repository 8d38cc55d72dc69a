import CLibrary
import KiiPush
import KiiPushDelivery
package import KiiPushSystem

/// A file of metrics in the text format of Prometheus, for the textfile collector of its node exporter; the guide
/// "Watching an agent" lists them.
///
/// Values that are nil or empty are omitted.
package struct MetricsFile {
    let metrics: Metrics
    let status: ServiceStatus
    var counts: ServiceCounts?
    var paced: [PacedKey] = []
    var latencies: [ExactText: RouteLatencies.Times] = [:]
    var deadLetters: Int?
    var areDeadLettersFull: Bool?
    /// The number of targets that the kill switch has off.
    var kills: Int?
    /// Whether the program is healthy, by its own definition.
    var isHealthy: Bool?
    /// For each route watched for silence, and for the agent under an empty name, whether it is silent.
    var silent: [String: Bool] = [:]
    var shortages: Shortages?
    var droppedLines: Int?

    /// Writes the file; `path.tmp` beside it is used for that.
    ///
    /// It is replaced as a whole, so that nobody reads a partial one, and has mode 0644, since it contains only counts
    /// and names of routes for other users. It is not synced to disk; after a power failure it may be empty. A symbolic
    /// link of this user or root stays, and the file that it names is replaced; a device or a pipe stays, and the text
    /// is written into it, unless it is a pipe that nobody reads. Any other file is an error (`EEXIST`), and stays.
    ///
    /// - Throws: ``WriteError``; the old file is unchanged.
    func write(to path: String) throws(WriteError) {
        guard !isForeignFile(path, Self.start) else {
            let hint = "; it is not a metrics file; name another file"
            throw WriteError(path: path, number: ErrorNumber(rawValue: EEXIST), hint: hint)
        }
        do throws(ErrorNumber) { try replaceFile(path, with: text, mode: 0o644, isDurable: false) } catch {
            throw WriteError(path: path, number: error)
        }
    }

    package static let start = "# HELP kiipush_"

    private var text: String {
        let parts: [String?] = [
            messages, routes, service, waits, times, gauges, counts.map(Self.links),
            counts.map { Self.events($0.counts) }, shortages.map(Self.lacks),
            Self.family(
                "log_lines_dropped_total", .counter, "Log lines that were dropped because nobody read them.",
                value: droppedLines),
        ]
        return parts.compactMap(\.self).joined()
    }

    private var messages: String {
        // "paced" is not final: such messages are counted among the service's messages.
        let ended = metrics.outcomes.filter { $0.outcome != "paced" }
        let formats = metrics.formats.sorted { $0.key < $1.key }
        return Self.family(
            "messages_total", .counter, "Messages that have ended.",
            ended.map { ([("outcome", $0.outcome), ("reason", $0.reason ?? "")], $0.messages) })
            + Self.family(
                "format_messages_total", .counter, "Messages of a format that have ended.",
                formats.map { ([("format", $0.key)], $0.value) })
    }

    private var routes: String {
        func family(_ name: String, _ help: String, _ count: (Metrics.RouteCount) -> Int) -> String {
            Self.family(name, .counter, help, metrics.routes.map { ([("route", $0.route)], count($0)) })
        }
        return family("route_handled_total", "How often a route's handler succeeded.", \.handled)
            + family("route_failed_total", "How often a route's handler failed.", \.failed)
            + family("route_paced_total", "How many messages had to wait for their pace.", \.paced)
            + family("route_expired_total", "How often a message was too old for a route.", \.expired)
    }

    private var service: String {
        let states = [
            ("waiting", status.waiting), ("handling", status.handling), ("retrying", status.retrying),
            ("paced", status.paced), ("onDisk", status.onDisk),
        ]
        return Self.family(
            "service_messages", .gauge, "Messages that have not ended.", states.map { ([("state", $0.0)], $0.1) })
            + Self.family(
                "service_payloads", .gauge, "Accepted payloads that have not ended.",
                value: status.messages + status.onDisk)
            + Self.family(
                "service_bytes", .gauge, "Bytes of the accepted payloads that have not ended.",
                value: status.bytes + status.bytesOnDisk)
            + Self.family(
                "service_overrunning", .gauge, "Handlers that have exceeded their timeout.", value: status.overrunning)
            + Self.family("service_open", .gauge, "1 while payloads are accepted.", value: status.isOpen ? 1 : 0)
    }

    private var waits: String {
        let levels = Dictionary(grouping: paced, by: \.level.rawValue).sorted { $0.key < $1.key }
        return Self.family(
            "loop_paced", .gauge, "Messages that the loop guard lets wait, by what they have in common.",
            levels.map { ([("level", $0.key)], $0.value.reduce(0) { $0 + $1.waiting }) })
    }

    private var times: String {
        let routes = latencies.map { (id: $0.key.text, times: $0.value) }.sorted { $0.id < $1.id }
        return Self.histograms(
            "route_waiting_seconds", "From a message's arrival to a route's first attempt.",
            routes.map { ($0.id, $0.times.waiting) })
            + Self.histograms(
                "route_handling_seconds", "The duration of each run of a route's handler.",
                routes.map { ($0.id, $0.times.handling) })
    }

    private var gauges: String {
        Self.family("dead_letters", .gauge, "Dead letters in the store.", value: deadLetters)
            + Self.family(
                "dead_letters_full", .gauge, "1 when the dead-letter store has no capacity.",
                value: areDeadLettersFull.map { $0 ? 1 : 0 })
            + Self.family("healthy", .gauge, "1 while the agent is healthy.", value: isHealthy.map { $0 ? 1 : 0 })
            + Self.family("kills", .gauge, "Entries of the kill switch.", value: kills)
            + Self.family(
                "silent", .gauge, "1 while a route, or the agent, has been silent for longer than its limit.",
                silent.sorted { $0.key < $1.key }.map { ([("route", $0.key)], $0.value ? 1 : 0) })
    }

    private static func links(_ counts: ServiceCounts) -> String {
        let (links, now) = (counts.links, counts.clock.now)
        func age(_ instant: MonotonicInstant) -> Int { max(0, Int(instant.duration(to: now).components.seconds)) }
        func samples(_ value: (TransportLink) -> Int) -> [Sample] {
            links.map { ([("transport", $0.name)], value($0)) }
        }
        return family("uptime_seconds", .gauge, "Seconds since the agent started.", value: age(counts.beginning))
            + family("transport_up", .gauge, "1 while the link is up.", samples { $0.isUp ? 1 : 0 })
            + family(
                "transport_silence_seconds", .gauge, "Seconds since the last payload, or since the start.",
                samples { age($0.lastMessageAt ?? counts.beginning) })
            + family("transport_payloads_total", .counter, "Payloads that were accepted.", samples(\.messages))
    }

    private static func events(_ counts: ServiceCounts.State) -> String {
        let transports: [Sample] = counts.events.sorted { $0.key < $1.key }.flatMap { name, counts in
            ["connected", "disconnected", "refused", "possibleGap", "ignored"].map { event in
                ([("transport", name), ("event", event)], counts[event] ?? 0)
            }
        }
        return family(
            "retries_total", .counter, "Attempts that failed and were followed by another.", value: counts.retries)
            + family("overruns_total", .counter, "Handlers that exceeded their timeout.", value: counts.overruns)
            + family(
                "store_failures_total", .counter, "Failures of the inbox and of the dead-letter store.",
                value: counts.storeFailures)
            + family("transport_events_total", .counter, "Events that transports reported.", transports)
    }

    private static func lacks(_ shortages: Shortages) -> String {
        let kinds = Shortage.Kind.allCases
        return family(
            "shortage", .gauge, "1 while the agent is short of the resource and waits.",
            kinds.map { ([("kind", $0.rawValue)], shortages.isShort(of: $0) ? 1 : 0) })
            + family(
                "shortages_total", .counter, "Shortages of the resource that have begun.",
                kinds.map { ([("kind", $0.rawValue)], shortages.begun($0)) })
    }

    // MARK: The format

    private typealias Sample = (labels: [(String, String)], value: Int)

    private enum Kind: String {
        case counter, gauge
    }

    private static func family(_ name: String, _ kind: Kind, _ help: String, value: Int?) -> String {
        family(name, kind, help, value.map { [([], $0)] } ?? [])
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

/// Why a file was not written.
package struct WriteError: Error, Sendable, Hashable, CustomStringConvertible {
    package let path: String
    package let number: ErrorNumber
    /// What follows the reason, such as what to do.
    var hint = ""

    /// One line for people: "metrics.prom: cannot be written: No such file or directory".
    package var description: String { "\(EscapedText(path)): cannot be written: \(number)\(hint)" }
}
