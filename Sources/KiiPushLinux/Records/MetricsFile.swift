import Glibc
public import KiiPush
public import KiiPushDelivery

/// A file of metrics in the text format of Prometheus, as its node exporter's textfile collector reads them.
///
/// ```swift
/// let metrics = MetricsFile(path: "/var/lib/node_exporter/kiipush.prom")
/// try metrics.write(receiver.metrics, service.status)
/// ```
///
/// | name | |
/// |---|---|
/// | `kiipush_messages_total{outcome,reason}` | messages that ended; `reason` is empty where the outcome has none |
/// | `kiipush_route_handled_total{route}`, `…_failed_total`, `…_held_total` | what a route's handler did |
/// | `kiipush_service_messages{state}` | `waiting`, `handling`, `retrying` and `held` ones, now |
/// | `kiipush_service_payloads`, `kiipush_service_bytes` | what the service has taken in and not ended |
/// | `kiipush_service_overrunning` | handlers that did not return in time, and still run |
/// | `kiipush_service_open` | 1 while payloads are taken in |
/// | `kiipush_loop_held{level,step}` | what the loop guard holds, by `LoopHold`; absent if nothing |
/// | `kiipush_shortage{kind}` | 1 while the agent lacks `descriptors`, `memory`, `disk`, a `log` reader or a `broker` |
/// | `kiipush_shortages_total{kind}` | how often it has lacked that |
/// | `kiipush_log_lines_dropped_total` | lines of the log that nobody read |
/// | `kiipush_retries_total`, `kiipush_overruns_total`, `kiipush_store_failures_total` | events of the service |
/// | `kiipush_transport_events_total{transport,event}` | a link's events, such as `disconnected` |
/// | `kiipush_transport_up{transport}` | 1 while the link is up, as ``TransportLink/isUp`` says |
/// | `kiipush_transport_silence_seconds{transport}` | since the last payload, or since the beginning where none came |
/// | `kiipush_transport_payloads_total{transport}` | payloads that were taken in |
/// | `kiipush_route_waiting_seconds{route}` | histogram: from a message's arrival to its first attempt |
/// | `kiipush_route_handling_seconds{route}` | histogram: each run of the route's handler |
/// | `kiipush_dead_letters`, `kiipush_dead_letters_full` | how many there are; 1 when there is no room for one more |
/// | `kiipush_kills` | what the kill switch has off |
/// | `kiipush_silent{route}` | 1 while a route, or with an empty one the agent, is silent for longer than it may be |
/// | `kiipush_uptime_seconds` | since the agent began |
///
/// The file is replaced as a whole, so that nobody reads half of it, and has mode 0644: it holds counts and the names
/// of routes, and is for others to read. It is not brought to the disk; after a loss of power it may be empty.
public struct MetricsFile: Sendable {
    /// The file's path; `path.tmp` is used to write it.
    public let path: String

    /// Names a file.
    public init(path: String) { self.path = path }

    /// Writes the file anew.
    ///
    /// - Parameters:
    ///   - metrics: the receiver's counts.
    ///   - status: what the service has on its hands.
    ///   - counts: the events of the service; nil leaves them out.
    ///   - holds: what the loop guard does, from its `LoopGuard.holds`.
    ///   - shortages: what the program lacks; nil leaves it out.
    ///   - droppedLines: how many lines of the log were dropped; nil leaves it out.
    ///   - latencies: what the handlers took; nil leaves it out.
    ///   - gauges: what else there is to tell.
    /// - Throws: ``WriteError``; the old file is still there.
    public func write(
        _ metrics: Metrics, _ status: ServiceStatus, _ counts: ServiceCounts? = nil, holds: [LoopHold] = [],
        shortages: Shortages? = nil, droppedLines: Int? = nil, latencies: RouteLatencies? = nil,
        gauges: MetricsGauges = MetricsGauges()
    ) throws(WriteError) {
        var text = MetricsText.text(metrics, status, counts, holds, latencies?.times ?? [:], gauges)
        if let shortages { text += MetricsText.text(shortages) }
        if let droppedLines { text += MetricsText.text(droppedLines: droppedLines) }
        do throws(ErrorNumber) {
            try replaceFile(path, with: text, mode: 0o644, isDurable: false)
        } catch {
            throw WriteError(path: path, number: error)
        }
    }
}

/// What only the program that runs a service knows, for a ``MetricsFile``; what is nil or empty is left out.
public struct MetricsGauges: Sendable, Hashable {
    /// How many dead letters there are.
    public var deadLetters: Int?
    /// Whether there is no room for one more.
    public var areDeadLettersFull: Bool?
    /// How many targets the kill switch has off.
    public var kills: Int?
    /// Of each route that is watched for silence, and of the agent with an empty name, whether it is silent.
    public var silent: [String: Bool] = [:]

    /// Nothing to tell.
    public init() {}
}

/// Why a file was not written.
public struct WriteError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file's path.
    public let path: String
    /// The number that says why.
    public let number: ErrorNumber

    /// One line for a person: "metrics.prom: cannot be written: No such file or directory".
    public var description: String { "\(EscapedText(path)): cannot be written: \(number)" }
}
