import KiiPush
import KiiPushDelivery
import KiiPushRules
import KiiPushSystem
import Synchronization

/// A value that tasks of an agent set and read.
final class Current<Value: Sendable & Equatable>: Sendable {
    private let kept = Mutex<Value?>(nil)

    var value: Value? { kept.withLock { $0 } }

    /// Sets the value; returns whether it is another one.
    @discardableResult
    func set(_ new: Value?) -> Bool {
        kept.withLock { kept in
            defer { kept = new }
            return kept != new
        }
    }
}

/// The agent's counters, and the two reports made from them: the metrics file and its status.
struct AgentReports: Sendable {
    let identity: AgentIdentity
    let receiver: PushReceiver
    let service: PushService
    let counts: ServiceCounts
    let latencies = RouteLatencies()
    let silence: SilenceWatch
    let log: AgentLog
    let settings: ServiceSettings
    let isDurable: Bool
    /// The result of healing a damaged state; nil if there is no old file to examine.
    let healed: String?
    /// The metrics file; nil for none.
    let metrics: String?
    /// Why the metrics file could not be written last; nil if it was.
    let metricsFailure = Current<String>()
    /// The rules that are in use; nil before the first ones are loaded.
    let rules = Current<AgentStatus.Rules>()
    /// Follows the kill file; nil if there is none.
    let kills: KillFileWatch?
    /// Avoids duplicates; nil if it remembers in memory.
    let deduplicator: Deduplicator?

    /// Every five seconds, until its task is cancelled: writes the metrics file, and passes the status to `tell`.
    ///
    /// It asks the inbox whether it works every thirty seconds, since that writes, and while it fails each time.
    func keep(_ tell: (@Sendable (AgentStatus) -> Void)?) async {
        guard metrics != nil || tell != nil else { return }
        for round in 0... {
            if round % 6 == 0 || !service.status.isOpen { service.checkInbox() }
            writeMetrics()
            tell?(status)
            // At first it is not open yet.
            do { try await Task.sleep(for: .seconds(round == 0 ? 1 : 5)) } catch { return }
        }
    }

    /// Writes the metrics file now.
    func writeMetrics() {
        guard let path = metrics else { return }
        let (paced, letters) = (receiver.loopGuard?.paced ?? [], receiver.deadLetters)
        var gauges = MetricsGauges()
        (gauges.deadLetters, gauges.areDeadLettersFull) = (try? letters.count, (try? letters.isFull) ?? false)
        (gauges.kills, gauges.silent) = (receiver.loopGuard?.killed.count ?? 0, silence.states)
        gauges.isHealthy = status.isHealthy
        // The status shows a failure as long as it lasts.
        log.trouble(onceIn: metricsFailure) { [gauges] () throws(WriteError) in
            try MetricsFile(path: path).write(
                receiver.metrics, service.status, counts, paced: paced, shortages: log.shortages,
                droppedLines: log.writer.dropped, latencies: latencies, gauges: gauges)
        }
    }
}
