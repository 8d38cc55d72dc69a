import KiiPush
import KiiPushDelivery
import KiiPushLinux
import KiiPushSystem

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

    /// Writes the metrics file every five seconds, until its task is cancelled.
    func keepMetrics() async {
        guard metrics != nil else { return }
        while !Task.isCancelled {
            writeMetrics()
            do { try await Task.sleep(for: .seconds(5)) } catch { return }
        }
    }

    /// Writes the metrics file now.
    func writeMetrics() {
        guard let path = metrics else { return }
        let (holds, letters) = (receiver.loopGuard?.holds ?? [], receiver.deadLetters)
        var gauges = MetricsGauges()
        (gauges.deadLetters, gauges.areDeadLettersFull) = (try? letters.count, (try? letters.isFull) ?? false)
        (gauges.kills, gauges.silent) = (receiver.loopGuard?.killed.count ?? 0, silence.states)
        do {
            try MetricsFile(path: path).write(
                receiver.metrics, service.status, counts, holds: holds, shortages: log.shortages,
                droppedLines: log.writer?.dropped ?? 0, latencies: latencies, gauges: gauges)
        } catch { log.trouble("\(error)") }
    }

    /// The source of the agent's status.
    var statusSource: StatusSource {
        var source = StatusSource(
            identity: identity, receiver: receiver, service: service, counts: counts, latencies: latencies,
            settings: settings, isDurable: isDurable)
        let (shortages, silence) = (log.shortages, silence)
        source.shortages = {
            (shortages?.current ?? []).map { shortage in
                AgentStatus.Shortage(kind: shortage.kind.rawValue, since: shortage.since, what: shortage.detail)
            }
        }
        source.healed = healed
        source.silent = {
            silence.silent.map { AgentStatus.Silence(route: $0.route, forSeconds: $0.length.components.seconds) }
        }
        return source
    }
}
