import KiiPush
import KiiPushDelivery
import KiiPushRules
import KiiPushLinux
import KiiPushSystem
import Synchronization

/// `kiipush receive`: an agent that receives pushes and runs the handlers of a rules file.
struct ReceiveCommand {
    static func run(_ arguments: [String], _ console: Console) async -> ExitCode {
        let options: ReceiveOptions
        do {
            guard let read = try ReceiveOptions.read(arguments) else {
                console.print(command.help)
                return .fine
            }
            options = read
        } catch let error as Arguments.Mistake {
            return command.refuse(error, console)
        } catch let error as EndpointProblems {
            for line in error.lines { console.error(line) }
            return .failed
        } catch {
            console.error("kiipush receive: \(error)")
            return .failed
        }
        ignoreBrokenPipeSignal()
        return await run(options, console)
    }

    private static func run(_ options: ReceiveOptions, _ given: Console) async -> ExitCode {
        let told = Mutex<(@Sendable (Shortages.Change) -> Void)?>(nil)
        let shortages = Shortages { change in told.withLock { $0 }?(change) }
        let output = LogOutput.standardError
        let writer = LogWriter(shortages: shortages) { line in
            output.write(line) { line in
                if let tryError = given.tryError { return tryError(line) }
                given.error(line)
                return true
            }
        }
        defer { writer.finish(within: .seconds(1)) }
        let console = Console(print: given.print, error: { writer.add($0) })
        let log = AgentLog(console: console, isQuiet: options.isQuiet, writer: writer, shortages: shortages)
        if let limit = DescriptorLimit.lackForStart() {
            console.error(
                "kiipush receive: the limit of \(limit) open files is too low; raise it with 'ulimit -n' or "
                    + "LimitNOFILE=")
            return .failed
        }
        let (manager, stop) = (ServiceManager(), StopRequest())
        let reload = Mutex<(@Sendable () -> Void)?>(nil)
        // Before anything slow: until then a signal ends the process like a crash.
        let signals = StopSignals {
            stop.make()
            log.note("stopping")
            manager.stopping()
        }
        let hangUp = HangUpSignal { reload.withLock { $0 }?() }
        defer { withExtendedLifetime((signals, hangUp)) {} }
        told.withLock { $0 = { log.tell($0) } }
        guard let rules = RulesFile.load(options.rules, console, isWatched: true) else { return .failed }
        if stop.isMade {
            log.note("stopped before any message was accepted")
            return .fine
        }
        let cloud: AgentCloud
        do { cloud = try AgentCloud(options, rules) } catch {
            console.error("kiipush receive: \(escaped("\(error)"))")
            return .failed
        }
        guard await prove(options, rules, cloud, console) else { return .failed }
        let code = await serve(options, console) { state in
            let agent = try Agent(fitted(options, log), rules, cloud, console, log, manager, stop, state)
            reload.withLock { $0 = { agent.look() } }
            return agent
        }
        await cloud.close()
        return code
    }

    /// Opens the state directory and runs the agent that `make` returns.
    ///
    /// A start that fails before anything arrived removes a directory that it created.
    private static func serve(
        _ options: ReceiveOptions, _ console: Console, _ make: (AgentState?) throws -> Agent
    ) async -> ExitCode {
        var (state, agent): (AgentState?, Agent?) = (nil, nil)
        do {
            state = try open(options)
            let made = try make(state)
            agent = made
            let code = try await made.run()
            if code != .fine, made.hasNothing { state?.leaveNothing() }
            return code
        } catch {
            if agent?.hasNothing ?? true { state?.leaveNothing() }
            console.error("kiipush receive: \(error)")
            return .failed
        }
    }

    /// The state directory, for the agent alone; nil for one that keeps its state in memory.
    private static func open(_ options: ReceiveOptions) throws -> AgentState? {
        guard let directory = options.state else { return nil }
        switch try AgentState.open(directory, patience: .seconds(2), heals: true) {
        case .opened(let state): return state
        case .taken: throw AgentError("an agent already runs on \(escaped(directory))")
        }
    }

    /// Whether rules pass their checks; called if there is no state directory yet, since a failed start must not create
    /// one.
    private static func prove(
        _ options: ReceiveOptions, _ rules: RoutingRules, _ cloud: AgentCloud, _ console: Console
    ) async -> Bool {
        guard let directory = options.state, !StateDirectory.isThere(directory) else { return true }
        let receiver = PushReceiver(rules: rules, app: options.app)
        let problems = Mutex<[String]>([])
        let gate = RulesGate(
            receiver, actions: ProgramActions(cloud: cloud.calls), checks: [{ cloud.problems(of: $0) }])
        let watch = RulesWatch(path: options.rules, gate: gate) { update in
            if case .refused(let found) = update { problems.withLock { $0 = found.map { escaped("\($0)") } } }
        }
        await watch.look()
        let found = problems.withLock { $0 }
        for problem in found { console.error(problem) }
        return found.isEmpty
    }

    /// Limits the options' concurrent handlers to the available open files.
    private static func fitted(_ options: ReceiveOptions, _ log: AgentLog) -> ReceiveOptions {
        var options = options
        let asked = options.service.concurrency
        let fitting = DescriptorLimit.makeRoom(for: asked)
        guard fitting < asked else { return options }
        options.service.concurrency = fitting
        log.trouble(
            "handling \(fitting) at once, not \(asked): the limit of open files is too low; raise it with 'ulimit -n' "
                + "or LimitNOFILE=")
        return options
    }
}
