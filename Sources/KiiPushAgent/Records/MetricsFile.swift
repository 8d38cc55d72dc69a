import CLibrary
package import KiiPush
package import KiiPushDelivery
package import KiiPushSystem

/// A file of metrics in the text format of Prometheus, for the textfile collector of its node exporter.
///
/// ```swift
/// let metrics = MetricsFile(path: "/var/lib/node_exporter/kiipush.prom")
/// try metrics.write(receiver.metrics, service.status)
/// ```
///
/// | name | |
/// |---|---|
/// | `kiipush_messages_total{outcome,reason}` | messages that ended; `reason` is empty where the outcome has none |
/// | `kiipush_format_messages_total{format}` | messages that ended, of each format that the receiver knows |
/// | `kiipush_route_handled_total{route}`, `…_failed_total`, `…_paced_total` | results of a route's handler |
/// | `kiipush_service_messages{state}` | `waiting`, `handling`, `retrying` and `paced` ones, now |
/// | `kiipush_service_payloads`, `kiipush_service_bytes` | accepted payloads that have not ended |
/// | `kiipush_service_overrunning` | handlers that exceed their time limit and still run |
/// | `kiipush_service_open` | 1 while payloads are accepted |
/// | `kiipush_healthy` | 1 while the program has no problem, as it judges itself |
/// | `kiipush_loop_paced{level}` | messages that the loop guard lets wait, by `PacedKey.Level`; absent if none |
/// | `kiipush_shortage{kind}` | 1 while the agent lacks `descriptors`, `memory`, `disk`, a `log` reader or a `broker` |
/// | `kiipush_shortages_total{kind}` | how often that shortage has begun |
/// | `kiipush_log_lines_dropped_total` | log lines that were dropped |
/// | `kiipush_retries_total`, `kiipush_overruns_total`, `kiipush_store_failures_total` | events of the service |
/// | `kiipush_transport_events_total{transport,event}` | a connection's events, such as `disconnected` |
/// | `kiipush_transport_up{transport}` | 1 while connected, as ``TransportLink/isUp`` says |
/// | `kiipush_transport_silence_seconds{transport}` | time since the last payload, or since the beginning |
/// | `kiipush_transport_payloads_total{transport}` | accepted payloads |
/// | `kiipush_route_waiting_seconds{route}` | histogram: from a message's arrival to its first attempt |
/// | `kiipush_route_handling_seconds{route}` | histogram: each run of the route's handler |
/// | `kiipush_dead_letters`, `kiipush_dead_letters_full` | their number; 1 while their store is full |
/// | `kiipush_kills` | targets that the kill switch has off |
/// | `kiipush_silent{route}` | 1 while a route, or with an empty one the agent, is silent for too long |
/// | `kiipush_uptime_seconds` | time since the agent started |
///
/// The file is replaced as a whole, so that nobody reads a partial one, and has mode 0644, since it contains only
/// counts and names of routes for other users. It is not synced to disk; after a power failure it may be empty. A
/// symbolic link stays, and the file that it names is replaced; a device or a pipe stays, and the text is written into
/// it, unless it is a pipe that nobody reads.
package struct MetricsFile: Sendable {
    /// The file's path; `path.tmp` beside the file is used to write it.
    package let path: String

    /// Names a file.
    package init(path: String) { self.path = path }

    /// Writes the file.
    ///
    /// - Parameters:
    ///   - metrics: the receiver's counts.
    ///   - status: the service's status.
    ///   - counts: the service's events; nil omits them.
    ///   - paced: the keys whose messages wait, from `LoopGuard.paced`.
    ///   - shortages: the program's shortages; nil omits them.
    ///   - droppedLines: the number of dropped log lines; nil omits it.
    ///   - latencies: the handlers' latencies; nil omits them.
    ///   - gauges: further values.
    /// - Throws: ``WriteError``; the old file is unchanged.
    package func write(
        _ metrics: Metrics, _ status: ServiceStatus, _ counts: ServiceCounts? = nil, paced: [PacedKey] = [],
        shortages: Shortages? = nil, droppedLines: Int? = nil, latencies: RouteLatencies? = nil,
        gauges: MetricsGauges = MetricsGauges()
    ) throws(WriteError) {
        var text = MetricsText.text(metrics, status, counts, paced, latencies?.times ?? [:], gauges)
        if let shortages { text += MetricsText.text(shortages) }
        if let droppedLines { text += MetricsText.text(droppedLines: droppedLines) }
        do throws(ErrorNumber) {
            try replaceFile(path, with: text, mode: 0o644, isDurable: false)
        } catch {
            throw WriteError(path: path, number: error)
        }
    }
}

/// Values for a ``MetricsFile`` that only the service's program knows; nil or empty ones are omitted.
package struct MetricsGauges: Sendable, Hashable {
    /// The number of dead letters.
    package var deadLetters: Int?
    /// Whether the dead-letter store is full.
    package var areDeadLettersFull: Bool?
    /// The number of targets that the kill switch has off.
    package var kills: Int?
    /// Whether the program is healthy, by its own definition.
    package var isHealthy: Bool?
    /// For each route watched for silence, and for the agent under an empty name, whether it is silent.
    package var silent: [String: Bool] = [:]

    /// No values.
    package init() {}
}

/// Why a file was not written.
package struct WriteError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file's path.
    package let path: String
    /// The error number.
    package let number: ErrorNumber

    /// One line for people: "metrics.prom: cannot be written: No such file or directory".
    package var description: String { "\(EscapedText(path)): cannot be written: \(number)" }
}
