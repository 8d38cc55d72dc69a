import CLibrary
package import KiiPush
package import KiiPushDelivery
package import KiiPushSystem

/// A file of metrics in the text format of Prometheus, for the textfile collector of its node exporter.
///
/// The guide "Watching an agent" lists the metrics.
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

    /// Writes the file; values that are nil are omitted.
    ///
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
    package var deadLetters: Int?
    package var areDeadLettersFull: Bool?
    /// The number of targets that the kill switch has off.
    package var kills: Int?
    /// Whether the program is healthy, by its own definition.
    package var isHealthy: Bool?
    /// For each route watched for silence, and for the agent under an empty name, whether it is silent.
    package var silent: [String: Bool] = [:]

    package init() {}
}

/// Why a file was not written.
package struct WriteError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file's path.
    package let path: String
    package let number: ErrorNumber

    /// One line for people: "metrics.prom: cannot be written: No such file or directory".
    package var description: String { "\(EscapedText(path)): cannot be written: \(number)" }
}
