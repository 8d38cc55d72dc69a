import KiiPush
import KiiPushDelivery
import KiiPushRules
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
    let metrics: String?
    /// Why the metrics file could not be written last; nil if it was.
    let metricsFailure = Current<String>()
    /// The rules that are in use; nil before the first ones are loaded.
    let rules = Current<AgentStatus.Rules>()
    /// Follows the kill file; nil if there is none.
    let kills: KillFileWatch?
    /// Avoids duplicates; nil if it remembers in memory.
    let deduplicator: Deduplicator?

    func writeMetrics() {
        guard let path = metrics else { return }
        let (loopGuard, letters) = (receiver.loopGuard, receiver.deadLetters)
        let file = MetricsFile(
            metrics: receiver.metrics, status: service.status, counts: counts, paced: loopGuard?.paced ?? [],
            latencies: latencies.times, deadLetters: try? letters.count,
            areDeadLettersFull: (try? letters.isFull) ?? false, kills: loopGuard?.killed.count ?? 0,
            isHealthy: status.isHealthy, silent: silence.states, shortages: log.shortages,
            droppedLines: log.writer.dropped)
        // The status shows a failure as long as it lasts.
        log.trouble(onceIn: metricsFailure) { () throws(WriteError) in try file.write(to: path) }
    }
}

extension AgentReports {
    /// The agent's current status; it asks the inbox whether it works, which may take a second.
    var checkedStatus: AgentStatus {
        service.checkInbox()
        return status
    }

    /// The agent's current status, as far as is known.
    var status: AgentStatus {
        let (now, wall) = (counts.clock.now, UTCDate.now)
        func seconds(since instant: MonotonicInstant) -> Int64 { max(0, instant.duration(to: now).components.seconds) }
        // By the monotonic clock, so that setting the wall clock later does not make the agent older than the machine.
        func date(_ instant: MonotonicInstant) -> UTCDate { wall.advanced(by: now.duration(to: instant)) }
        var status = AgentStatus()
        (status.version, status.process, status.state) = (Version.number, Int64(identity.process), identity.state)
        (status.since, status.uptime) = (date(counts.beginning), seconds(since: counts.beginning))
        status.transports = counts.links.map { link in
            AgentStatus.Transport(
                name: link.name, state: link.state, forSeconds: seconds(since: link.since), detail: link.detail,
                lastMessageAgo: link.lastMessageAt.map { seconds(since: $0) },
                lastMessageAt: link.lastMessageAt.map { date($0) }, messages: Int64(link.messages))
        }
        fillQueue(&status)
        fillRoutes(&status)
        let clock = receiver.clock
        status.paced = (receiver.loopGuard?.paced ?? []).filter { $0.waiting > 0 }.map { key in
            AgentStatus.Paced(
                level: key.level.rawValue, route: key.route, subject: key.subject, since: seconds(since: key.since),
                waiting: Int64(key.waiting), superseded: Int64(key.superseded), why: key.sentence)
        }
        let ids = Set(receiver.routes.map { KillTarget.route($0.id) })
        status.kills = (receiver.loopGuard?.killedUntil ?? [:]).map { target, end in
            // A bucket of which no route is told may still get messages.
            let isKnown = if case .route = target { ids.contains(target) } else { true }
            return AgentStatus.Kill(
                target: target.description, until: wall.advanced(by: clock.now.duration(to: end)).roundedUpToSecond,
                isKnown: isKnown)
        }.sorted { $0.target < $1.target }
        let letters = receiver.deadLetters
        status.deadLetters = AgentStatus.DeadLetters(
            count: (try? letters.count).map { Int64($0) }, isFull: (try? letters.isFull) ?? false)
        status.shortages = log.shortages.current.map { shortage in
            AgentStatus.Shortage(kind: shortage.kind.rawValue, since: shortage.since, what: shortage.detail)
        }
        status.silent = silence.silent.map {
            AgentStatus.Silence(route: $0.route, forSeconds: $0.length.components.seconds)
        }
        (status.healed, status.metricsFailure, status.rules) = (healed, metricsFailure.value, rules.value)
        return status
    }

    /// The failures of stores that the service does not use itself.
    private var failures: [String] {
        let isForgetful = deduplicator?.counts.isStoreFailing == true
        return (isForgetful ? ["the deduplication store fails: messages may be handled twice"] : [])
            + (kills?.failure.map { ["no new kill is applied: \($0)"] } ?? [])
    }

    private func fillQueue(_ status: inout AgentStatus) {
        let now = service.status
        (status.isOpen, status.failures) = (now.isOpen, now.failures + failures)
        status.gaps = now.gaps.map(\.description)
        status.queue = AgentStatus.Queue(
            messages: Int64(now.messages + now.onDisk), bytes: Int64(now.bytes + now.bytesOnDisk),
            waiting: Int64(now.waiting), handling: Int64(now.handling), retrying: Int64(now.retrying),
            paced: Int64(now.paced), onDisk: Int64(now.onDisk), recovering: Int64(now.recovering),
            overrunning: Int64(now.overrunning))
        status.queue.isFull =
            isDurable
            ? now.onDisk >= settings.messagesOnDisk || now.bytesOnDisk >= settings.bytesOnDisk
            : now.messages >= settings.messages || now.bytes >= settings.bytes
    }

    private func fillRoutes(_ status: inout AgentStatus) {
        let (metrics, times) = (receiver.metrics, latencies.times)
        status.outcomes = metrics.outcomes.filter { $0.messages != 0 }.map { count in
            AgentStatus.Outcome(outcome: count.outcome, reason: count.reason, messages: Int64(count.messages))
        }
        status.routes = metrics.routes.map { count in
            let times = times[ExactText(count.route)] ?? RouteLatencies.Times()
            return AgentStatus.Route(
                id: count.route, handled: Int64(count.handled), failed: Int64(count.failed), paced: Int64(count.paced),
                expired: Int64(count.expired), p50: Self.milliseconds(times.handling, 0.5),
                p99: Self.milliseconds(times.handling, 0.99), waitedP50: Self.milliseconds(times.waiting, 0.5),
                waitedP99: Self.milliseconds(times.waiting, 0.99),
                handlingSeconds: Double(times.handling.sum / 1_000_000) / 1000)
        }
    }

    /// The quantile of a share in milliseconds, to the microsecond.
    private static func milliseconds(_ histogram: LatencyHistogram, _ share: Double) -> Double? {
        histogram.quantile(share).map { Double($0 / 1000) / 1000 }
    }
}

extension AgentStatus.Rules {
    init(_ loaded: RulesUpdate.Loaded) {
        let params = loaded.rules.params.map { parameter in
            AgentStatus.Parameter(
                name: parameter.name, value: loaded.rules.values[ExactText(parameter.name)]?.string,
                isSecret: parameter.isSecret)
        }
        self.init(
            file: loaded.rules.file, digest: loaded.digest, params: params, needRestart: loaded.needRestart)
    }
}
