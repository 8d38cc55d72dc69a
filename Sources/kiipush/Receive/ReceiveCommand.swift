import KiiPush
import KiiPushLinux
import KiiPushTesting
import Synchronization

/// `kiipush receive`: an agent that takes pushes in and does what a rules file says.
struct ReceiveCommand {
    static func run(_ arguments: [String], _ console: Console) async -> ExitCode {
        let options: ReceiveOptions
        do {
            guard let read = try ReceiveOptions.read(arguments) else {
                console.print(help)
                return .fine
            }
            options = read
        } catch let error as Arguments.Mistake {
            console.error("kiipush receive: \(error.text); try 'kiipush receive --help'")
            return .usage
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
                "kiipush receive: too few open files to begin with: \(limit) may be open at all; raise the limit with "
                    + "'ulimit -n' or LimitNOFILE=")
            return .failed
        }
        let (manager, stop) = (ServiceManager(), StopRequest())
        let reload = Mutex<(@Sendable () -> Void)?>(nil)
        // Before anything that takes time: until then a signal ends the process as if it had crashed.
        let signals = StopSignals {
            stop.make()
            log.note("stopping")
            manager.stopping()
        }
        let hangUp = HangUpSignal { reload.withLock { $0 }?() }
        defer { withExtendedLifetime((signals, hangUp)) {} }
        told.withLock { told in
            told = { change in
                log.tell(change)
                manager.status("\(change)")
            }
        }
        guard let rules = RulesFile.load(options.rules, console) else { return .failed }
        if stop.isMade {
            log.note("stopped before anything was taken in")
            return .fine
        }
        guard await prove(options, rules, console) else { return .failed }
        do {
            let agent = try Agent(fitted(options, log), rules, console, log, manager, stop)
            reload.withLock { $0 = { agent.look() } }
            return try await agent.run()
        } catch let error as AgentError {
            console.error("kiipush receive: \(error)")
            return .failed
        } catch {
            console.error("kiipush receive: \(error)")
            return .failed
        }
    }

    /// Whether rules prove themselves; asked here where there is no state directory yet, since a start that fails is to
    /// leave none behind.
    private static func prove(_ options: ReceiveOptions, _ rules: RoutingRules, _ console: Console) async -> Bool {
        guard let directory = options.state, !StateDirectory.isThere(directory) else { return true }
        let receiver = PushReceiver(rules: rules, app: options.app)
        let problems = Mutex<[String]>([])
        let watch = RulesWatch(path: options.rules, gate: RulesGate(receiver, actions: ProgramActions())) { update in
            if case .refused(let found) = update { problems.withLock { $0 = found.map { escaped("\($0)") } } }
        }
        await watch.look()
        let found = problems.withLock { $0 }
        for problem in found { console.error(problem) }
        return found.isEmpty
    }

    /// The options with no more handlers at once than there are open files for.
    private static func fitted(_ options: ReceiveOptions, _ log: AgentLog) -> ReceiveOptions {
        var options = options
        let asked = options.service.concurrency
        let fitting = DescriptorLimit.makeRoom(for: asked)
        guard fitting < asked else { return options }
        options.service.concurrency = fitting
        log.trouble(
            "\(fitting) handled at once, not \(asked): there are too few open files for more; raise the limit with "
                + "'ulimit -n' or LimitNOFILE=")
        return options
    }

    static let help = """
        kiipush receive: an agent that takes pushes in and does what a rules file says

        usage: kiipush receive --rules FILE SOURCE [OPTION…]

        SOURCE is one of
          --stdin              a payload a line on standard input; ends when that does and all is handled
          --unix PATH          a payload a line from programs that connect to this socket; each is answered
          --mqtt ADDRESS       mqtt[s]://[user@]host[:port]/topic: MQTT 3.1.1, QoS 1, a lasting session
          --endpoint FILE      the endpoint that Kii gives a device, a JSON file: MQTT 3.1, the topic as the client id

        Options:
          --rules FILE         the rules; they are loaded anew when the file changes and passes its own tests
          --state DIR          where payloads, seen messages, dead letters, open breakers, kills and the client id are
                               kept. Without it $STATE_DIRECTORY, and with MQTT ~/.local/state/kiipush; else
                               everything lies in memory
          --transport NAME     the network that the lines of --stdin or --unix came over, such as apns or fcm
          --app ID             the app that is served, instead of the file's
          --concurrency N      how many messages are handled at once: 8
          --drain DURATION     how long handlers may finish after SIGTERM, before they are cancelled: 10s
          --metrics FILE       counts for Prometheus, written every five seconds
          --capture FILE       keeps what comes in, as a corpus for 'kiipush rules diff'; bounded, with the payloads
          --silent-after [ROUTE=]TIME
                               warns when nothing came for so long, such as 10m; or nothing for a route, such as news=1h.
                               May be given several times; also in the metrics and in 'kiipush status'
          --quiet              logs troubles only
          --client-id ID, --password-file FILE, --ca-file FILE, --cert-file FILE, --key-file FILE,
          --mqtt-version 3.1|3.1.1|5, --clean-session
                               of MQTT; the files of the password and of the certificate's key must be readable by
                               their owner only

        A program that a rule runs gets the message as JSON on standard input, and has handled it when it ends with 0; all
        about it is in the guide "Programs as handlers" (Sources/KiiPush/KiiPush.docc/ProgramsAsHandlers.md).

        What a rule prints goes to standard output, the log to standard error, a line an outcome with the priority that
        journald reads; in the journal itself with fields such as KIIPUSH_OUTCOME, on a terminal without either. Of one
        route and bucket, topic or sender it logs at most 10 a minute of a kind, then a line that counts the others.

        SIGHUP has it look at its rules and kills at once. SIGTERM or SIGINT stops it: nothing more is taken in, handlers
        finish, the rest is kept; a second
        one ends it at once. Exit codes: 0 stopped cleanly; 1 it could not go on, or lost messages that lay in memory; 64
        wrong usage.
        """
}
