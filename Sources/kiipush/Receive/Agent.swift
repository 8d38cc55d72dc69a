import KiiPush
import KiiPushLinux
import KiiPushMQTT
import KiiPushTesting
import Synchronization

/// The program behind `kiipush receive`: a receiver made of rules, a service, and what an operator needs around them.
final class Agent: Sendable {
    private let options: ReceiveOptions
    private let rules: RoutingRules
    private let console: Console
    private let log: AgentLog
    private let state: AgentState?
    private let receiver: PushReceiver
    private let service: PushService
    private let gate: RulesGate
    private let manager: ServiceManager
    private let stop: StopRequest
    private let counts = ServiceCounts()
    private let latencies = RouteLatencies()
    private let taps = TapBoard()
    private let silence: SilenceWatch
    private let isDurable: Bool
    /// Whether the state was found damaged while it ran, so that another process has to heal it.
    private let isStateDamaged = Atomic<Bool>(false)
    private let since = UTCDate.now
    /// Whether anything has come, or anybody could have been heard.
    private let hasBegun = Mutex(false)
    /// What looks at the rules and the kills, once it runs.
    private let looks = Mutex<[@Sendable () -> Void]>([])
    /// Whether what is left at the end is lost: it lies in memory, and nobody will bring it again.
    private let losesWhatIsLeft: Bool
    /// Takes down that there is a session; does nothing where there is none to be had.
    private let session: @Sendable () throws -> Void

    /// Puts an agent together; nothing is taken in before it runs.
    init(
        _ options: ReceiveOptions, _ rules: RoutingRules, _ console: Console, _ log: AgentLog,
        _ manager: ServiceManager, _ stop: StopRequest, _ state: AgentState?
    ) throws {
        self.options = options
        silence = SilenceWatch(options.silentAfter)
        self.rules = rules
        self.console = console
        self.manager = manager
        self.stop = stop
        self.log = log
        var stores = AgentStores()
        self.state = state
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
                app: options.app ?? rules.app, shortages: log.shortages ?? Shortages(), note: { [log] in log.note($0) },
                log: { [log] in log.trouble($0) }))
        let transport = try Self.transport(options, state, log.shortages)
        session = Self.session(of: transport, state)
        // The transport of MQTT says by itself whether payloads come.
        let isMQTT = if case .mqtt = options.source { true } else { false }
        let ready = ReadyTransport(manager: isMQTT ? nil : manager, log: log)
        losesWhatIsLeft =
            !stores.inbox.isDurable && transport.abilities.isDisjoint(with: [.refuses, .redelivers])
        let source: any PushTransport =
            if let path = options.capture {
                CapturingTransport(transport: transport, file: CaptureFile(path: path), log: log)
            } else { transport }
        // What is read from a descriptor is open from the start; all others say when they are.
        let connects = if case .standardInput = options.source { false } else { true }
        isDurable = stores.inbox.isDurable
        var transports: [any PushTransport] = [ready, WatchedTransport(source, counts, connects: connects)]
        if state?.healing?.isNew == true { transports.insert(HealedState(), at: 0) }
        service = PushService(
            receiver, transports, inbox: stores.inbox,
            settings: options.service, delivery: rules.delivery)
    }

    private static func transport(
        _ options: ReceiveOptions, _ state: AgentState?, _ shortages: Shortages?
    ) throws -> any PushTransport {
        switch options.source {
        case .standardInput: return LinesTransport(transport: options.transport)
        case .socket(let path):
            return SocketTransport(path: path, transport: options.transport, shortages: shortages)
        case .mqtt(var settings):
            #if MQTT
            let files = state.map { SessionFiles(directory: $0.directory) }
            if settings.clientID.isEmpty, let files { settings.clientID = try files.clientID() }
            settings.hadSession = try !settings.cleanSession && files?.hadSession(settings) ?? false
            return try MQTTTransport(settings)
            #else
            throw AgentError("this kiipush speaks no MQTT; build it with the trait MQTT (Debian's libmosquitto-dev)")
            #endif
        }
    }

    /// What takes down that a broker has a session for this agent, so that the next one knows when it was lost.
    private static func session(of transport: any PushTransport, _ state: AgentState?) -> @Sendable () throws -> Void {
        #if MQTT
        guard let state, let settings = (transport as? MQTTTransport)?.settings, !settings.cleanSession else {
            return {}
        }
        let files = SessionFiles(directory: state.directory)
        return { try files.noteSession(settings) }
        #else
        return {}
        #endif
    }

    // MARK: Running

    /// Runs until the transport has no more or it is asked to stop.
    func run() async throws -> ExitCode {
        let (service, log, receiver, latencies) = (service, log, receiver, latencies)
        tellOfNoSwitch()
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
        looks.withLock { $0.append { Task { await rulesWatch.look() } } }
        guard case .loaded(let loaded)? = first.withLock({ $0 }) else {
            if case .refused(let problems)? = first.withLock({ $0 }) {
                for problem in problems { console.error(escaped("\(problem)")) }
            }
            return .failed
        }
        log.note("\(counted(loaded.rules.rules.count, "rule")) of \(escaped(options.rules))")
        tellOfUnknownRoutes()
        watch()
        let beside = startBeside(rulesWatch)
        // Ready to the manager, which ends who is not in time: what comes first may take longer, and a broker be away.
        manager.status("handling what was in flight when the last one ended")
        manager.ready()
        let run = Task { try await service.run() }
        stop.onMade { run.cancel() }
        watchState()
        defer { log.tellLeftOut(all: true) }
        let report: DrainReport
        do { report = try await run.value } catch {
            await taps.end()
            await beside.end()
            throw error
        }
        await taps.end()
        await beside.end()
        let ended = receiver.metrics.outcomes.filter { $0.outcome != "held" }.reduce(0) { $0 + $1.messages }
        log.note(
            "stopped: \(ended) ended in all, \(report.finished) of them while it stopped; \(report.cancelled) "
                + "cancelled, \(report.left) left")
        writeMetrics()
        // So that the file is whole without its log; what would still write is refused.
        state?.close()
        if isStateDamaged.load(ordering: .relaxed) { return .failed }
        guard losesWhatIsLeft, report.left > 0 else { return .fine }
        log.trouble(
            "\(report.left) \(report.left == 1 ? "message is" : "messages are") lost: what was taken in lay in memory, "
                + "and nobody brings it again; keep it with --state DIR, in a build with the trait SQLite")
        return .failed
    }

    private func begin() { hasBegun.withLock { $0 = true } }

    /// Whether it ends without anything to keep: nothing has come, and nobody was there to send it.
    var hasNothing: Bool { !hasBegun.withLock { $0 } && service.status.messages + service.status.onDisk == 0 }

    /// Looks at the rules and the kills now.
    func look() { for look in looks.withLock({ $0 }) { look() } }

    /// Ends the agent when its state is found damaged: only one that starts can heal it.
    private func watchState() {
        state?.onDamage { [self] what in
            isStateDamaged.store(true, ordering: .relaxed)
            log.trouble(
                "the state is damaged: \(what); this agent takes nothing more in, acknowledges nothing more, and ends "
                    + "with 1; the next start heals the state")
            manager.stopping()
            // Not here: whoever found out may hold what the service needs to stop.
            Task { [stop] in stop.make() }
        }
    }

    /// Says when nobody can switch anything off from outside.
    private func tellOfNoSwitch() {
        if state == nil {
            log.trouble("no kill switch: 'kiipush kill' works on a state directory; name one with --state DIR")
        } else if receiver.loopGuard == nil {
            log.trouble("no kill switch: the receiver's chain has no loop guard")
        }
    }

    /// Says of each route that is watched for silence and is not there: it would seem to be silent for ever.
    private func tellOfUnknownRoutes() {
        let known = receiver.routes.map(\.id)
        for limit in options.silentAfter where !limit.route.isEmpty && !known.contains(limit.route) {
            log.trouble("--silent-after: \(NearestName.unknown("route", limit.route, known: known))")
        }
    }

    /// Has outcomes and events told.
    private func watch() {
        let (log, counts, session, manager) = (log, counts, session, manager)
        receiver.onTrace { [latencies, taps, silence, weak self] trace in
            self?.begin()
            log.tell(trace)
            latencies.count(trace)
            silence.saw(trace)
            taps.offer(trace)
        }
        service.onEvent { [weak self] event in
            log.tell(event)
            counts.count(event)
            switch event {
            case .transport(_, .connected(let detail)):
                self?.begin()
                log.shortages?.end(.broker)
                manager.status("connected: \(detail)")
                do { try session() } catch { log.trouble("\(error)") }
            case .transport(_, .disconnected(let why, _)): manager.status("not connected: \(why)")
            case .transport(let name, .refused(let why, _)):
                log.shortages?.begin(.broker, "\(name) is refused: \(why); it asks again, with growing pauses")
                manager.status("refused: \(why)")
            default: break
            }
        }
        receiver.loopGuard?.onRisk { log.trouble("a handler writes to what its own route takes: \($0)") }
        if let state, !AgentState.isDurable {
            log.trouble(
                "this kiipush is built without the trait SQLite: what it takes in lies in memory, is acknowledged when "
                    + "it has ended, and lost with the process where nobody sends it again; "
                    + "\(escaped(state.directory)) keeps kills only")
        }
    }

    /// Serves commands on the control socket until its task is cancelled.
    private func serveCommands(_ state: AgentState, _ desk: AgentDesk) -> Task<Void, Never> {
        let (log, taps, app) = (log, taps, options.app ?? rules.app)
        return Task {
            await Self.untilServed(log) {
                try await state.control.serve(shortages: log.shortages) { arguments, reply in
                    let console = Console(print: { reply.print($0) }, error: { reply.error($0) })
                    let rest = Array(arguments.dropFirst())
                    if arguments.first == "tap" {
                        return await TapCommand.serve(rest, taps, app: app, reply).rawValue
                    }
                    return await DeskCommand.run(arguments.first ?? "", rest, desk, console).rawValue
                }
            }
        }
    }

    /// What runs beside the service.
    private struct Beside {
        /// Kills, rules, metrics, the log's account, the watchdog.
        var tasks: [Task<Void, Never>]
        /// The control socket.
        var commands: Task<Void, Never>?

        /// Ends all, and waits until the control socket is gone from its place: the process is about to end.
        func end() async {
            for task in tasks { task.cancel() }
            commands?.cancel()
            await commands?.value
        }
    }

    private func startBeside(_ rulesWatch: RulesWatch) -> Beside {
        let (log, receiver, service) = (log, receiver, service)
        var tasks = [Task { await rulesWatch.run() }]
        var commands: Task<Void, Never>?
        if let state {
            var desk = AgentDesk(deadLetters: receiver.deadLetters, receiver: receiver, service: service)
            desk.agent = AgentIdentity(directory: state.directory, since: since)
            desk.status = statusSource
            if let loopGuard = receiver.loopGuard {
                let kills = KillFileWatch(state.killFile, for: loopGuard) { log.trouble("\($0)") }
                kills.look()
                tasks.append(Task { await kills.run() })
                desk.lookAtKills = { kills.look() }
                looks.withLock { $0.append { kills.look() } }
            }
            commands = serveCommands(state, desk)
        }
        tasks.append(Task { await self.writeMetricsNowAndThen() })
        tasks.append(
            Task {
                while !Task.isCancelled {
                    do { try await Task.sleep(for: .seconds(5)) } catch { return }
                    log.tellLeftOut()
                }
            })
        tasks.append(Task { [silence] in await silence.run { log.tell($0) } })
        let (manager, most) = (manager, options.service.concurrency)
        tasks.append(Task { await manager.keepAlive { service.status.overrunning < most } })
        return Beside(tasks: tasks, commands: commands)
    }

    /// Serves commands; where the socket cannot be made, tries again every five seconds, and says so once.
    private static func untilServed(_ log: AgentLog, _ serve: @Sendable () async throws -> Void) async {
        var isTold = false
        while !Task.isCancelled {
            do { return try await serve() } catch {
                if !isTold { log.trouble("no command can reach this agent, it tries again: \(error)") }
                isTold = true
            }
            try? await Task.sleep(for: .seconds(5))
        }
    }

    private func writeMetricsNowAndThen() async {
        guard options.metrics != nil else { return }
        while !Task.isCancelled {
            writeMetrics()
            do { try await Task.sleep(for: .seconds(5)) } catch { return }
        }
    }

    private func writeMetrics() {
        guard let path = options.metrics else { return }
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
    private var statusSource: StatusSource {
        var source = StatusSource(
            identity: AgentIdentity(directory: state?.directory ?? "", since: since), receiver: receiver,
            service: service, counts: counts, latencies: latencies, settings: options.service, isDurable: isDurable)
        let (shortages, silence) = (log.shortages, silence)
        source.shortages = {
            (shortages?.current ?? []).map { shortage in
                AgentStatus.Shortage(kind: shortage.kind.rawValue, since: shortage.since, what: shortage.detail)
            }
        }
        source.healed = state?.healing?.text
        source.silent = {
            silence.silent.map { AgentStatus.Silence(route: $0.route, forSeconds: $0.length.components.seconds) }
        }
        return source
    }
}

/// Tells that payloads are taken in, which is when the service runs its transports.
private struct ReadyTransport: PushTransport {
    let name = "ready"
    let abilities: TransportAbilities = []
    let manager: ServiceManager?
    let log: AgentLog

    func run(_ intake: PushIntake) async {
        log.note("ready\(intake.isDurable ? "" : "; what is taken in lies in memory")")
        manager?.status("taking payloads in")
    }
}

/// Tells that messages may have been lost with the state that was healed.
private struct HealedState: PushTransport {
    let name = "state"
    let abilities: TransportAbilities = []

    func run(_ intake: PushIntake) async {
        intake.report(.possibleGap("the state was damaged or gone; the start of this log says what was saved of it"))
    }
}
