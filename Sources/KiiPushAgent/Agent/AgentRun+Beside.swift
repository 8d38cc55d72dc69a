import KiiPush
import KiiPushDelivery
import KiiPushRules
import KiiPushSystem

// The tasks beside an agent's service.
extension AgentRun {
    struct Beside {
        /// Kills, rules, the log's counts, the watchdog.
        var tasks: [Task<Void, Never>]
        /// The control socket; the metrics file and the status.
        var awaited: [Task<Void, Never>] = []

        /// Ends all, and waits for the control socket's removal and the metrics file, which is written once more.
        func end() async {
            for task in tasks + awaited { task.cancel() }
            for task in awaited { await task.value }
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
            beside.awaited.append(Task { await commands.run { tried.finish() } })
            for await _ in tries {}
        }
        var tell: (@Sendable (AgentStatus) -> Void)?
        if manager.isPresent { tell = { [weak self] in self?.tellManager($0) } }
        beside.awaited.append(Task { [tell] in await reports.keep(tell) })
        beside.tasks.append(Task { await log.keepTellingLeftOut() })
        beside.tasks.append(Task { await reports.silence.run { log.tell($0) } })
        let most = settings.service.concurrency
        beside.tasks.append(Task { await manager.keepAlive { service.status.overrunning < most } })
        return beside
    }
}

struct AgentCommands: Sendable {
    let control: ControlSocket
    let session: StateSession
    let taps: TapBoard
    let app: String?
    let log: AgentLog

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
                if !isTold { log.trouble("the control socket is unavailable, retrying: \(error)") }
                isTold = true
            }
            try? await Task.sleep(for: .seconds(5))
        }
    }

    private func serve(_ listening: @escaping @Sendable () -> Void) async throws {
        let dropped: @Sendable (String) -> Void = { log.trouble($0) }
        try await control.serve(shortages: log.shortages, listening: listening, dropped: dropped) { arguments, reply in
            let rest = Array(arguments.dropFirst())
            if arguments.first == "tap" {
                let routes = session.receiver?.routes.map(\.id) ?? []
                return await taps.serve(rest, app: app, routes: routes, reply).rawValue
            }
            let console = DeskConsole(
                print: { reply.print($0) }, error: { reply.error($0) }, isHeard: { reply.isHeard })
            return await DeskCommand.run(arguments.first ?? "", rest, session, console).rawValue
        }
    }
}
