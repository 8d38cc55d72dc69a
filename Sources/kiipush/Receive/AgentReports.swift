import KiiPush
import KiiPushDelivery
import KiiPushLinux

/// What an agent counts, and the two forms in which it reports that: the metrics file and its status.
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
    /// What was saved of a damaged state; nil when there is no old file to be looked at.
    let healed: String?
    /// The metrics file; nil where none is wanted.
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

    /// What the agent's status is made of.
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
