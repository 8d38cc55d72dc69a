import Glibc
public import KiiPush

/// A file of metrics in the text format of Prometheus, as its node exporter's textfile collector reads them.
///
/// ```swift
/// let metrics = MetricsFile(path: "/var/lib/node_exporter/kiipush.prom")
/// try metrics.write(receiver.metrics, service.status)
/// ```
///
/// | name | |
/// |---|---|
/// | `kiipush_messages_total{outcome,reason}` | messages that have ended; `reason` is empty where the outcome has none |
/// | `kiipush_route_handled_total{route}`, `…_failed_total`, `…_held_total` | what a route's handler did |
/// | `kiipush_service_messages{state}` | `waiting`, `handling`, `retrying` and `held` ones, now |
/// | `kiipush_service_payloads`, `kiipush_service_bytes` | what the service has taken in and not ended |
/// | `kiipush_service_overrunning` | handlers that did not return in time, and still run |
/// | `kiipush_service_open` | 1 while payloads are taken in |
/// | `kiipush_loop_held{level,step}` | what the loop guard holds, as ``KiiPush/LoopHold`` says; absent while that is nothing |
/// | `kiipush_shortage{kind}`, `kiipush_shortages_total{kind}` | 1 while it lacks `descriptors`, `memory`, `disk` or a reader of its `log`; how often it has |
/// | `kiipush_log_lines_dropped_total` | lines of the log that nobody read |
/// | `kiipush_retries_total`, `kiipush_overruns_total`, `kiipush_store_failures_total` | what the service told of |
/// | `kiipush_transport_events_total{transport,event}` | `connected`, `disconnected`, `possibleGap`, `ignored` |
///
/// The file is replaced as a whole, so that nobody reads half of it, and has mode 0644: it holds counts and the names of
/// routes, and is for others to read. It is not brought to the disk; after a loss of power it may be empty.
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
    ///   - counts: what the service has told; nil leaves it out.
    ///   - holds: what the loop guard does, from its ``KiiPush/LoopGuard/holds``.
    ///   - shortages: what the program lacks; nil leaves it out.
    ///   - droppedLines: how many lines of the log were dropped; nil leaves it out.
    /// - Throws: ``WriteError``; the old file is still there.
    public func write(
        _ metrics: Metrics, _ status: ServiceStatus, _ counts: ServiceCounts? = nil, holds: [LoopHold] = [],
        shortages: Shortages? = nil, droppedLines: Int? = nil
    ) throws(WriteError) {
        var text = MetricsText.text(metrics, status, counts, holds)
        if let shortages { text += MetricsText.text(shortages) }
        if let droppedLines { text += MetricsText.text(droppedLines: droppedLines) }
        do throws(ErrorNumber) {
            try replaceFile(path, with: text, mode: 0o644, isDurable: false)
        } catch {
            throw WriteError(path: path, number: error)
        }
    }
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
