import KiiPush
import KiiPushDelivery
import KiiPushLinux
import KiiPushRules
import KiiPushSystem

// The tasks beside an agent's service.
extension Agent {
    /// The tasks that run beside the service.
    struct Beside {
        /// Kills, rules, metrics, the log's counts, the watchdog.
        var tasks: [Task<Void, Never>]
        /// The control socket.
        var commands: Task<Void, Never>?

        /// Ends all, and waits until the control socket is removed: the process is about to end.
        func end() async {
            for task in tasks { task.cancel() }
            commands?.cancel()
            await commands?.value
        }
    }

    /// Starts all tasks beside the service.
    func startBeside(_ rulesWatch: RulesWatch) -> Beside {
        let (log, service, reports, manager) = (log, service, reports, manager)
        var beside = Beside(tasks: [Task { await rulesWatch.run() }])
        if let state {
            var session = StateSession(deadLetters: receiver.deadLetters, receiver: receiver, service: service)
            session.agent = reports.identity
            session.status = reports.statusSource
            if let kills = reports.kills {
                kills.look()
                beside.tasks.append(Task { await kills.run() })
                session.lookAtKills = { kills.look() }
                onLook { kills.look() }
            }
            let commands = AgentCommands(
                control: state.control, session: session, taps: taps, app: options.app ?? rules.app, log: log)
            beside.commands = Task { await commands.run() }
        }
        var tell: (@Sendable (AgentStatus) -> Void)?
        if manager.isPresent { tell = { [weak self] in self?.tellManager($0) } }
        beside.tasks.append(Task { [tell] in await reports.keep(tell) })
        beside.tasks.append(Task { await log.keepTellingLeftOut() })
        beside.tasks.append(Task { await reports.silence.run { log.tell($0) } })
        let most = options.service.concurrency
        beside.tasks.append(Task { await manager.keepAlive { service.status.overrunning < most } })
        return beside
    }
}
