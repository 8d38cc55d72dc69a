import KiiPush
import KiiPushDelivery
import KiiPushRules
import KiiPushLinux
import KiiPushMQTT
import Synchronization

/// The program behind `kiipush receive`: a receiver made of rules, a service, and what an operator needs around them.
///
/// ``AgentTransports`` is what brings its payloads, ``AgentReports`` what it counts and tells of itself, and
/// ``AgentCommands`` what answers commands.
final class Agent: Sendable {
    let options: ReceiveOptions
    let rules: RoutingRules
    let console: Console
    let log: AgentLog
    let state: AgentState?
    let receiver: PushReceiver
    let service: PushService
    let manager: ServiceManager
    let reports: AgentReports
    let taps = TapBoard()
    let transports: AgentTransports
    private let gate: RulesGate
    private let stop: StopRequest
    /// Whether the state was found damaged while it ran, so that another process has to heal it.
    private let isStateDamaged = Atomic<Bool>(false)
    /// Whether a transport has ever had a link, so that anybody could have been heard.
    let hasConnected = Atomic<Bool>(false)
    /// What looks at the rules and the kills, once it runs.
    private let looks = Mutex<[@Sendable () -> Void]>([])
    /// Whether what is left at the end is lost: it lies in memory, and nobody will bring it again.
    private let losesWhatIsLeft: Bool

    /// Puts an agent together; nothing is taken in before it runs.
    init(
        _ options: ReceiveOptions, _ rules: RoutingRules, _ cloud: AgentCloud, _ console: Console, _ log: AgentLog,
        _ manager: ServiceManager, _ stop: StopRequest, _ state: AgentState?
    ) throws {
        (self.options, self.rules, self.console, self.log) = (options, rules, console, log)
        (self.manager, self.stop, self.state) = (manager, stop, state)
        var stores = AgentStores()
        if let state {
            // At each start, until somebody has looked at the old file and removed it.
            if let healing = state.healing {
                log.trouble(healing.isNew ? healing.text : "at an earlier start: \(healing.text)")
            }
            stores = try state.stores(rules, log.shortages)
        }
        receiver = PushReceiver(
            rules: rules, app: options.app, deadLetters: stores.deadLetters, deduplicator: stores.deduplicator,
            breakers: stores.breakers)
        gate = RulesGate(
            receiver,
            actions: ProgramActions(
                app: options.app ?? rules.app, cloud: cloud.calls, shortages: log.shortages ?? Shortages(),
                note: { [log] in log.note($0) },
                log: { [log] in log.trouble($0) }),
            checks: [{ cloud.problems(of: $0) }])
        let counts = ServiceCounts()
        transports = try AgentTransports(options, state, log, manager, counts)
        losesWhatIsLeft = !stores.inbox.isDurable && !transports.bringsAgain
        service = PushService(
            receiver, transports.all, inbox: stores.inbox, settings: options.service, delivery: rules.delivery)
        reports = AgentReports(
            identity: AgentIdentity(directory: state?.directory ?? ""), receiver: receiver, service: service,
            counts: counts, silence: SilenceWatch(options.silentAfter), log: log, settings: options.service,
            isDurable: stores.inbox.isDurable, healed: state?.healing?.text, metrics: options.metrics)
    }

    /// Whether it ends without anything to keep: nothing has come, and nobody was there to send it.
    var hasNothing: Bool {
        !hasConnected.load(ordering: .relaxed) && receiver.metrics.received == 0
            && service.status.messages + service.status.onDisk == 0
    }

    /// Looks at the rules and the kills now.
    func look() { for look in looks.withLock({ $0 }) { look() } }

    /// Adds what is to look at something when somebody asks for it.
    func onLook(_ look: @escaping @Sendable () -> Void) { looks.withLock { $0.append(look) } }

    // MARK: Running

    /// Runs until the transport has no more or it is asked to stop.
    func run() async throws -> ExitCode {
        tellOfNoSwitch()
        guard let rulesWatch = await loadRules() else { return .failed }
        tellOfUnknownRoutes()
        watch()
        let beside = startBeside(rulesWatch)
        // Ready to the manager, which ends who is not in time: what comes first may take longer, and a broker be away.
        manager.status("handling what was in flight when the last one ended")
        manager.ready()
        let run = Task { [service] in try await service.run() }
        stop.onMade { run.cancel() }
        watchState()
        defer { log.tellLeftOut(all: true) }
        let result = await run.result
        await taps.end()
        await beside.end()
        return end(try result.get())
    }

    /// Loads the rules file for the first time, and makes what follows it from then on.
    ///
    /// - Returns: that; nil where the rules are refused, which it reports.
    private func loadRules() async -> RulesWatch? {
        let (service, log, receiver, latencies) = (service, log, receiver, reports.latencies)
        let first = Mutex<RulesUpdate?>(nil)
        let rulesWatch = RulesWatch(path: options.rules, gate: gate) { update in
            let isFirst = first.withLock { first in
                defer { first = first ?? update }
                return first == nil
            }
            if case .loaded(let loaded) = update {
                service.setDelivery(loaded.rules.delivery)
                latencies.keep(receiver.routes.map(\.id))
            }
            if !isFirst { log.tell(update) }
        }
        await rulesWatch.look()
        onLook { Task { await rulesWatch.look() } }
        switch first.withLock({ $0 }) {
        case .loaded(let loaded)?:
            log.note("\(counted(loaded.rules.rules.count, "rule")) of \(escaped(options.rules))")
            return rulesWatch
        case .refused(let problems)?: for problem in problems { console.error(escaped("\(problem)")) }
        case .overtaken?, nil: break
        }
        return nil
    }

    /// Ends the agent when its state is found damaged: only one that starts can heal it.
    private func watchState() {
        state?.onDamage { [self] what in
            isStateDamaged.store(true, ordering: .relaxed)
            log.trouble(
                "the state is damaged: \(what); this agent accepts and acknowledges nothing more, and ends "
                    + "with 1; the next start heals the state")
            manager.stopping()
            // Not here: whoever found out may hold what the service needs to stop.
            Task { [stop] in stop.make() }
        }
    }

    /// Says how it ended, and closes the state.
    private func end(_ report: DrainReport) -> ExitCode {
        let ended = receiver.metrics.outcomes.filter { $0.outcome != "held" }.reduce(0) { $0 + $1.messages }
        log.note(
            "stopped: \(ended) ended in all, \(report.finished) of them while it stopped; \(report.cancelled) "
                + "cancelled, \(report.left) left")
        reports.writeMetrics()
        // So that the file is whole without its log; what would still write is refused.
        state?.close()
        if isStateDamaged.load(ordering: .relaxed) { return .failed }
        guard losesWhatIsLeft, report.left > 0 else { return .fine }
        log.trouble(
            "\(report.left) \(report.left == 1 ? "message is" : "messages are") lost: they were in memory only, and "
                + "nobody sends them again; keep them with --state DIR, in a build with the trait SQLite")
        return .failed
    }
}
