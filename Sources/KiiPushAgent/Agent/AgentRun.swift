import KiiPush
import KiiPushDelivery
import KiiPushRules
import KiiPushSystem
import Synchronization

/// A run of a ``PushAgent``: its service, and tools for operators.
///
/// ``AgentTransports`` brings its payloads, ``AgentReports`` counts and reports, and ``AgentCommands`` answers
/// commands.
final class AgentRun: Sendable {
    let settings: AgentSettings
    let host: AgentHost
    let state: AgentState?
    let receiver: PushReceiver
    let service: PushService
    let reports: AgentReports
    let taps = TapBoard()
    let transports: AgentTransports
    private let rules: AgentRules?
    /// Whether the state was found damaged at run time, so that another process must heal it.
    private let isStateDamaged = Atomic<Bool>(false)
    /// The problems that the service manager knows of, and the text that it was told last.
    let managed = Mutex((problems: [String](), text: ""))
    /// Whether a transport has ever been connected, so that a message could have arrived.
    let hasConnected = Atomic<Bool>(false)
    /// What the state lacks of an earlier agent's; nothing is accepted before its handling.
    private let gaps: [Gap]
    /// Whether remaining messages are lost at the end: they are in memory, and never redelivered.
    private let losesWhatIsLeft: Bool

    var log: AgentLog { host.log }
    var manager: ServiceManager { host.manager }

    /// Prepares a run; it accepts nothing before ``run()``.
    init(_ agent: PushAgent, _ sources: [any PushTransport]) throws {
        (host, state, receiver, rules) = (agent.host, agent.state, agent.receiver, agent.rules)
        settings = agent.settings.fitted(startsPrograms: rules != nil, host.log)
        let (log, stores) = (host.log, agent.stores)
        // At each start, until somebody has examined and removed the old file.
        if let healing = state?.healing {
            log.trouble(healing.isNew ? healing.text : "at an earlier start: \(healing.text)")
        }
        let counts = ServiceCounts()
        if state?.healing?.isNew == true {
            gaps = [Gap(.stateHealed, reason: StateTransport.loss)]
        } else if stores.isFirst {
            gaps = [Gap(.firstStart, reason: "no message was ever accepted here")]
        } else {
            gaps = []
        }
        transports = try AgentTransports(sources, settings, state, log, counts)
        losesWhatIsLeft = !stores.inbox.isDurable && !transports.bringsAgain
        service = PushService(
            receiver, transports.all, inbox: stores.inbox, answers: settings.answers + transports.answers,
            settings: settings.service, delivery: settings.delivery, executor: settings.executor)
        var kills: KillFileWatch?
        if let state, let loopGuard = receiver.loopGuard {
            kills = KillFileWatch(state.killFile, for: loopGuard) { log.trouble($0) }
        }
        reports = AgentReports(
            identity: AgentIdentity(directory: state?.directory ?? ""), receiver: receiver, service: service,
            counts: counts, silence: SilenceWatch(settings.silentAfter), log: log, settings: settings.service,
            isDurable: stores.inbox.isDurable, healed: state?.healing?.text, metrics: settings.metrics,
            kills: kills, deduplicator: stores.deduplicator)
        service.onEvent { [weak agent] event in agent?.tell(event) }
    }

    /// Whether it ends without anything to keep: nothing has arrived, and no sender was connected.
    var hasNothing: Bool {
        !hasConnected.load(ordering: .relaxed) && receiver.metrics.received == 0
            && service.status.messages + service.status.onDisk == 0
    }

    // MARK: Running

    /// Runs until the transports have ended or it is asked to stop.
    func run() async throws -> ExitCode {
        tellOfSettings()
        var rulesWatch: RulesWatch?
        if let rules {
            rulesWatch = await load(rules)
            if rulesWatch == nil { return .failed }
        } else {
            tellOfUnknownRoutes()
        }
        watch()
        // Clients may connect when readiness is reported; they are accepted once the service runs.
        defer { for socket in transports.sockets { socket.stopListening() } }
        for socket in transports.sockets { try socket.listen() }
        for gap in gaps { service.open(gap) }
        let beside = await startBeside(rulesWatch)
        // Report readiness first, since systemd has a start timeout: recovery may take longer, and the broker may be
        // away.
        manager.status("reading what the last agent left")
        manager.ready()
        let run = Task { [service] in try await service.run() }
        host.stop.onMade { run.cancel() }
        watchState()
        defer { log.tellLeftOut(all: true) }
        let result = await run.result
        taps.end()
        await beside.end()
        return end(try result.get())
    }

    /// Loads the rules file for the first time, and makes the watch that follows it; nil if they are refused.
    private func load(_ rules: AgentRules) async -> RulesWatch? {
        let gate = settings.gate(receiver, rules.params, log)
        let rulesWatch = RulesWatch(path: rules.path, gate: gate) { [weak self] in self?.follow($0) }
        await rulesWatch.look()
        host.onHangUp { Task { await rulesWatch.look() } }
        return reports.rules.value == nil ? nil : rulesWatch
    }

    /// Applies the settings of loaded rules that concern more than the receiver, and reports the update.
    private func follow(_ update: RulesUpdate) {
        let former = reports.rules.value
        switch update {
        case .loaded(let loaded):
            if let exposure = rules.flatMap({ RulesExposure(of: $0.path) }) { log.trouble("\(exposure)") }
            for problem in loaded.rules.programProblems { log.trouble(escaped(problem)) }
            for problem in loaded.rules.unusedValues { log.trouble(escaped("\(problem)")) }
            reports.rules.set(AgentStatus.Rules(loaded))
            service.setDelivery(loaded.rules.delivery)
            reports.latencies.keep(receiver.routes.map(\.id))
            if former == nil { tellOfFirst(loaded) } else { log.tell(update) }
            tellOfUnknownRoutes()
        case .refused(let problems):
            guard var former else { return problems.forEach { log.line(escaped("\($0)")) } }
            former.refused = problems.first.map { "since \(UTCDate.now.wholeSeconds): \($0)" }
            reports.rules.set(former)
            log.tell(update)
        case .overtaken: break
        }
    }

    private func tellOfFirst(_ loaded: RulesUpdate.Loaded) {
        let file = escaped(loaded.rules.file)
        log.note("\(counted(loaded.rules.rules.count, "rule")) of \(file)")
        // A receiver made by code keeps its own settings.
        if !loaded.needRestart.isEmpty {
            log.trouble(
                "\(file) states other settings than the program, whose hold: "
                    + loaded.needRestart.joined(separator: ", "))
        }
    }

    /// Ends the agent if its state is found damaged: only a new process can heal it.
    private func watchState() {
        // Weak: the state would keep the run that keeps it, and with it the directory's lock.
        state?.onDamage { [weak self] what in
            guard let self else { return }
            isStateDamaged.store(true, ordering: .relaxed)
            log.trouble(
                "the state is damaged: \(what); this agent accepts no more payloads and exits with 1; the next start "
                    + "repairs the state")
            manager.stopping()
            // Not here: the finder may hold a lock that the service needs to stop.
            Task { [host] in host.stop.make() }
        }
    }

    private func end(_ report: DrainReport) -> ExitCode {
        log.note(
            "stopped: \(receiver.metrics.received) ended in all, \(report.finished) of them while it stopped; \(report.cancelled) "
                + "cancelled, \(report.left) left")
        reports.writeMetrics()
        if isStateDamaged.load(ordering: .relaxed) { return .failed }
        // Who ends with the input wants to know whether all of it was handled. Whoever stops an agent could have looked
        // at its dead letters before; and a payload that is no push message was only reported.
        let isLast = !host.stop.isMade && !receiver.deadLetters.isDurable
        let stored = isLast ? (try? receiver.deadLetters.letters()) ?? [] : []
        let letters = stored.count { $0.reason != .undecodable }
        let lost = [(losesWhatIsLeft ? report.left : 0, "message"), (letters, "dead letter")].filter { $0.0 > 0 }
        if lost.isEmpty { return .fine }
        let build = AgentState.isDurable ? "" : ", in a build with the trait SQLite"
        log.trouble(
            "lost: \(lost.map { counted($0.0, $0.1) }.joined(separator: " and ")), kept in memory only, which nobody "
                + "sends again; \(settings.stateAdvice)\(build)")
        return .failed
    }
}
