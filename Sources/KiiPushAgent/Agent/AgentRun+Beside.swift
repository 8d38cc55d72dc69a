import KiiPush
import KiiPushDelivery
import KiiPushRules
import KiiPushSystem

// The tasks beside an agent's service.
extension AgentRun {
    /// The tasks that run beside the service.
    struct Beside {
        /// Kills, rules, the log's counts, the watchdog.
        var tasks: [Task<Void, Never>]
        /// The metrics file and the status.
        var reports: Task<Void, Never>?
        /// The control socket.
        var commands: Task<Void, Never>?

        /// Ends all, and waits until the control socket is removed and the metrics file is written: the process ends,
        /// and writes that file once more.
        func end() async {
            for task in tasks { task.cancel() }
            for task in [reports, commands] { task?.cancel() }
            for task in [reports, commands] { await task?.value }
        }
    }

    /// Starts all tasks beside the service; returns when the control socket listens, or cannot be created now.
    func startBeside(_ rulesWatch: RulesWatch?) async -> Beside {
        let (log, service, reports, manager) = (log, service, reports, manager)
        var beside = Beside(tasks: rulesWatch.map { watch in [Task { await watch.run() }] } ?? [])
        if let state {
            var session = StateSession(deadLetters: receiver.deadLetters, receiver: receiver, service: service)
            session.agent = reports.identity
            session.status = { reports.checkedStatus }
            if let kills = reports.kills {
                kills.look()
                beside.tasks.append(Task { await kills.run() })
                session.lookAtKills = { kills.look() }
                host.onHangUp { kills.look() }
            }
            let commands = AgentCommands(
                control: state.control, session: session, taps: taps, app: receiver.app, log: log)
            let (tries, tried) = AsyncStream.makeStream(of: Void.self)
            beside.commands = Task { await commands.run { tried.finish() } }
            for await _ in tries {}
        }
        var tell: (@Sendable (AgentStatus) -> Void)?
        if manager.isPresent { tell = { [weak self] in self?.tellManager($0) } }
        beside.reports = Task { [tell] in await reports.keep(tell) }
        beside.tasks.append(Task { await log.keepTellingLeftOut() })
        beside.tasks.append(Task { await reports.silence.run { log.tell($0) } })
        let most = settings.service.concurrency
        beside.tasks.append(Task { await manager.keepAlive { service.status.overrunning < most } })
        return beside
    }
}
