import KiiPush
import KiiPushDelivery
import KiiPushRules
import KiiPushSystem

// The tasks beside an agent's service.
extension AgentRun {
    struct Beside {
        var watchdog: Task<Void, Never>?
        /// The control socket, and the rounds.
        var awaited: [Task<Void, Never>] = []

        /// Ends all, and waits for the control socket's removal and the metrics file, which is written once more.
        func end() async {
            watchdog?.cancel()
            for task in awaited { task.cancel() }
            for task in awaited { await task.value }
        }
    }

    /// Starts all tasks beside the service; returns when the control socket listens, or cannot be created now.
    func startBeside(_ rulesWatch: RulesWatch?) async -> Beside {
        let (service, manager) = (service, manager)
        var beside = Beside()
        if let state {
            if let kills = reports.kills {
                kills.look()
                host.onHangUp { kills.look() }
            }
            let commands = AgentCommands(control: state.control, reports: reports, taps: taps)
            let (tries, tried) = AsyncStream.makeStream(of: Void.self)
            beside.awaited.append(Task { await commands.run { tried.finish() } })
            for await _ in tries {}
        }
        beside.awaited.append(Task { await makeRounds(rulesWatch) })
        let most = settings.service.concurrency
        beside.watchdog = Task { await manager.keepAlive { service.status.overrunning < most } }
        return beside
    }

    /// Looks in rounds at what nothing reports by itself, all at once, so that an idle device seldom wakes.
    ///
    /// Each 2.5 seconds, until its task is cancelled: the kill file, the rules file, silences. Each second time: the
    /// log's counts of omitted lines, whether the inbox works, the metrics file, and what the service manager shows.
    private func makeRounds(_ rulesWatch: RulesWatch?) async {
        for round in 0... {
            reports.kills?.look()
            // In a task, because its tests may take long.
            if let rulesWatch, rulesWatch.hasChanged() { Task { await rulesWatch.look() } }
            for change in reports.silence.look() { log.tell(change) }
            // In the first round the service is not open yet.
            if round == 1 || round.isMultiple(of: 2) {
                log.tellLeftOut()
                // Every half minute, since that writes, and while it fails each time.
                let asksInbox = round.isMultiple(of: 12) || !service.status.isOpen
                if asksInbox, reports.metrics != nil || manager.isPresent { service.checkInbox() }
                reports.writeMetrics()
                if manager.isPresent { tellManager(reports.status) }
            }
            do { try await Task.sleep(for: .milliseconds(round == 0 ? 1000 : 2500)) } catch { return }
        }
    }
}

struct AgentCommands: Sendable {
    let control: ControlSocket
    let reports: AgentReports
    let taps: TapBoard

    /// Serves commands on the control socket until its task is cancelled.
    ///
    /// If the socket cannot be created, it retries every five seconds, and reports that once. `tried` is called when
    /// the socket listens, and when it cannot be created.
    func run(_ tried: @escaping @Sendable () -> Void) async {
        var isTold = false
        defer { tried() }
        while !Task.isCancelled {
            do { return try await serve(tried) } catch {
                tried()
                if !isTold { reports.log.trouble("the control socket is unavailable, retrying: \(error)") }
                isTold = true
            }
            try? await Task.sleep(for: .seconds(5))
        }
    }

    private func serve(_ listening: @escaping @Sendable () -> Void) async throws {
        let (log, receiver) = (reports.log, reports.receiver)
        let session = StateSession(
            deadLetters: receiver.deadLetters, service: reports.service, agent: reports.identity)
        let dropped: @Sendable (String) -> Void = { log.trouble($0) }
        try await control.serve(shortages: log.shortages, listening: listening, dropped: dropped) { arguments, reply in
            let rest = Array(arguments.dropFirst())
            switch arguments.first ?? "" {
            case "tap":
                return await taps.serve(rest, app: receiver.app, routes: receiver.routes.map(\.id), reply).rawValue
            case "dead-letters":
                let console = DeskConsole(
                    print: { reply.print($0) }, error: { reply.error($0) }, isHeard: { reply.isHeard })
                return await DeadLetterDesk.answer(rest, session, console).rawValue
            case "status":
                let status = reports.checkedStatus
                reply.print(status.json)
                return (status.isHealthy ? ExitCode.fine : .failed).rawValue
            case "who":
                reply.print(identity(for: rest.first).json)
                return ExitCode.fine.rawValue
            case let name:
                reply.error("kiipush: the agent does not know the command '\(escaped(name))'")
                return ExitCode.usage.rawValue
            }
        }
    }

    /// The agent's identity, with what is off after a look at the kill file, and why it lacks a target.
    private func identity(for target: String?) -> AgentIdentity {
        let receiver = reports.receiver
        var identity = reports.identity
        reports.kills?.look()
        identity.killed = receiver.loopGuard?.killed.map(\.description).sorted()
        let target = target.flatMap { KillTarget($0) }
        identity.instead = target?.lack(of: receiver.routes.map { ($0.id, $0.criteria) })
        return identity
    }
}
