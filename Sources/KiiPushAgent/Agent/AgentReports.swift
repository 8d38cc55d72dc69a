import KiiPush
import KiiPushDelivery
import KiiPushRules
import KiiPushSystem
import Synchronization

/// Why the metrics file could not be written last; nil if it was.
final class MetricsFailure: Sendable {
    private let what = Mutex<String?>(nil)

    /// The failure now, in words.
    var current: String? { what.withLock { $0 } }

    /// Records the result of a write; returns whether it is another one than the last time.
    func note(_ failure: String?) -> Bool {
        what.withLock { what in
            defer { what = failure }
            return what != failure
        }
    }
}

/// The rules that are in use, for the status.
final class RulesInUse: Sendable {
    private let rules = Mutex<AgentStatus.Rules?>(nil)

    /// The rules; nil before the first ones are loaded.
    var current: AgentStatus.Rules? { rules.withLock { $0 } }

    func set(_ loaded: RulesUpdate.Loaded) {
        let params = loaded.rules.params.map { parameter in
            AgentStatus.Parameter(
                name: parameter.name, value: loaded.rules.values[ExactText(parameter.name)]?.string,
                isSecret: parameter.isSecret)
        }
        let new = AgentStatus.Rules(file: loaded.rules.file, digest: loaded.digest, params: params)
        rules.withLock { $0 = new }
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
    let metricsFailure = MetricsFailure()
    let rules = RulesInUse()
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
            tell?(statusSource.status)
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
        gauges.isHealthy = statusSource.status.isHealthy
        do {
            try MetricsFile(path: path).write(
                receiver.metrics, service.status, counts, paced: paced, shortages: log.shortages,
                droppedLines: log.writer.dropped, latencies: latencies, gauges: gauges)
            _ = metricsFailure.note(nil)
        } catch {
            // Once, not every five seconds; the status shows it as long as it lasts.
            if metricsFailure.note("\(error)") { log.trouble("\(error)") }
        }
    }

    /// The source of the agent's status.
    var statusSource: StatusSource {
        var source = StatusSource(
            identity: identity, receiver: receiver, service: service, counts: counts, latencies: latencies,
            settings: settings, isDurable: isDurable)
        let (shortages, silence) = (log.shortages, silence)
        source.shortages = {
            shortages.current.map { shortage in
                AgentStatus.Shortage(kind: shortage.kind.rawValue, since: shortage.since, what: shortage.detail)
            }
        }
        source.failures = { [kills, deduplicator] in
            var failures: [String] = []
            if deduplicator?.counts.isStoreFailing == true {
                failures.append("the deduplication store fails: messages may be handled twice")
            }
            if let failure = kills?.failure { failures.append("no kill can be applied: \(failure)") }
            return failures
        }
        source.healed = healed
        source.rules = { [rules] in rules.current }
        source.metricsFailure = { [metricsFailure] in metricsFailure.current }
        source.silent = {
            silence.silent.map { AgentStatus.Silence(route: $0.route, forSeconds: $0.length.components.seconds) }
        }
        return source
    }
}
