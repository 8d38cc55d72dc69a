// A program that makes an agent needs two imports, KiiPush and KiiPushAgent: these come with the second one.
public import KiiPush
@_exported public import KiiPushDelivery  // transports of one's own, and what they are told
@_exported public import KiiPushMQTT  // a broker's settings
@_exported public import KiiPushRules  // rules, and what performs their calls
import KiiPushSystem
import Synchronization

/// An agent: a receiver with handlers, stores that outlive the process, and what `kiipush` operates.
///
/// ```swift
/// let agent = PushAgent.orExit { try PushAgent(app: "0123abcd", me: [.thing(id: "th.1")], state: .service) }
///
/// agent.onPushToApp(bucket: "settings", object: "*") { event, context in
///     agent.note("object \(event.object.id) of bucket \(event.bucket.name) has changed")
/// }
/// ```
///
/// `try await agent.run(.mqtt("mqtts://device@broker.example/pushes"))` then runs it.
///
/// `kiipush receive` is such an agent. A payload is acknowledged when it is on disk, and its handler is called again
/// after a crash. A damaged state is set aside and what can be read of it is kept. While the agent runs, `kiipush
/// status`, `top`, `tap`, `dead-letters` and `kill` work on its state directory; it writes a log, for
/// the journal with fields, notifies systemd, and follows a rules file. One process at a time uses a state directory.
///
/// It needs the traits `SQLite` for stores on disk, without which only kills outlive the process, and `MQTT` for a
/// broker.
public final class PushAgent: HandlerRegistry, Sendable {
    /// The receiver whose chain and handlers it uses.
    public let receiver: PushReceiver
    /// What it was made with.
    public let settings: AgentSettings

    let host: AgentHost
    let state: AgentState?
    let stores: AgentStores

    private struct Changing {
        var rules: AgentRules?
        var hasRun = false
    }

    private let changing = Mutex(Changing())
    private let listeners = Listeners<ServiceEvent>()

    /// The rules that are loaded when it begins to run, and again when their file changes; nil for routes in code only.
    public var rules: AgentRules? {
        get { changing.withLock { $0.rules } }
        set { changing.withLock { $0.rules = newValue } }
    }

    /// Makes an agent with the standard chain: deduplicator, loop guard, scope filter.
    ///
    /// - Parameters:
    ///   - app: the app that is served; a payload that names another app is refused.
    ///   - me: identities that only this device writes as; see `LoopGuard`.
    ///   - writesAs: identities that this device and others write as, such as a user with several devices.
    ///   - serving: the scopes that are served; nil serves all.
    ///   - loop: the enabled layers of the loop guard, and their settings.
    ///   - state: where it keeps what outlives the process.
    ///   - settings: what it does beside calling handlers.
    /// - Throws: ``AgentError`` if another agent uses the state directory; why the directory cannot be used.
    public convenience init(
        app: String? = nil, me: [Sender] = [], writesAs: [Sender] = [], serving: ScopePattern? = nil,
        loop: LoopSettings = .standard, state: StatePlace, settings: AgentSettings = AgentSettings()
    ) throws {
        try self.init(app: app, state: state, settings: settings) { deduplicator in
            deduplicator
            LoopGuard(me: me, writesAs: writesAs, settings: loop)
            ScopeFilter(serving: serving)
        }
    }

    /// Makes an agent with a chain of your own.
    ///
    /// - Parameters:
    ///   - app: the app that is served.
    ///   - state: where it keeps what outlives the process.
    ///   - settings: what it does beside calling handlers.
    ///   - middleware: the chain, in order, given the deduplicator of the state, which comes first; without a
    ///     `LoopGuard` in it, nothing can be switched off with `kiipush kill`.
    /// - Throws: ``AgentError`` if another agent uses the state directory; why the directory cannot be used.
    public convenience init(
        app: String? = nil, state: StatePlace, settings: AgentSettings = AgentSettings(),
        @MiddlewareBuilder middleware: (Deduplicator) -> [any Middleware]
    ) throws {
        try self.init(AgentHost(isQuiet: settings.isQuiet), state, settings) { stores in
            PushReceiver(app: app, formats: settings.formats, deadLetters: stores.deadLetters) {
                for one in middleware(stores.deduplicator ?? Deduplicator()) { one }
            }
        }
    }

    /// Makes an agent; if it cannot be made, says why in one line and ends the process with exit code 1, as ``run(_:)``
    /// does.
    ///
    /// - Parameter make: makes the agent.
    /// - Returns: the agent.
    public static func orExit(_ make: () throws -> PushAgent) -> PushAgent {
        do { return try make() } catch {
            let host = AgentHost(isQuiet: false)
            host.fail("\(error)")
            host.finish()
            exitProcess(ExitCode.failed.rawValue)
        }
    }

    /// Makes the agent of a rules file, which the chain is made from.
    package convenience init(
        _ host: AgentHost, _ rules: RoutingRules, app: String?, _ state: StatePlace, _ settings: AgentSettings
    ) throws {
        var settings = settings
        settings.delivery = rules.delivery
        try self.init(host, state, settings, window: rules.dedupe) { stores in
            PushReceiver(
                rules: rules, app: app, formats: settings.formats, deadLetters: stores.deadLetters,
                deduplicator: stores.deduplicator)
        }
    }

    init(
        _ host: AgentHost, _ place: StatePlace, _ settings: AgentSettings, window: SeenWindow = .standard,
        _ receiver: (AgentStores) -> PushReceiver
    ) throws {
        (self.host, self.settings) = (host, settings)
        for (what, path) in [("metrics", settings.metrics), ("capture", settings.capture)] where path == "" {
            throw AgentError("the path of the \(what) is empty; name a file, or set it to nil")
        }
        guard let directory = try place.directory else {
            (state, stores) = (nil, AgentStores())
            self.receiver = receiver(stores)
            return
        }
        // A program that a killed agent was just starting may briefly hold the lock.
        guard case .opened(let state) = try AgentState.open(directory, patience: .seconds(2), heals: true) else {
            throw AgentError("an agent already runs on \(escaped(directory))")
        }
        self.state = state
        do {
            try state.refuse(settings.metrics, as: "metrics")
            try state.refuse(settings.capture, as: "capture")
            stores = try state.stores(window, host.log.shortages)
        } catch {
            state.leaveNothing()
            throw error
        }
        self.receiver = receiver(stores)
    }

    /// Calls `listener` with each event of the service and its transports, while it runs; keep it fast.
    @discardableResult
    public func onEvent(_ listener: @escaping @Sendable (ServiceEvent) -> Void) -> ListenerToken {
        listeners.add(listener)
    }

    /// Writes a line to the agent's log, as information, until it has run; a handler reports with it what it has done.
    ///
    /// Control characters are escaped, and a line is cut after 8 KiB.
    public func note(_ line: String) { host.log.note(line) }

    func tell(_ event: ServiceEvent) { listeners.call(event) }

    // MARK: Running

    /// Runs until the sources have ended, or SIGTERM, SIGINT or the cancellation of the task stops it.
    ///
    /// To stop, it accepts no more payloads, lets handlers finish, and keeps the rest for the next start. If it cannot
    /// start or go on, or loses messages that were only in memory, it logs why and ends the process with exit code 1,
    /// as `kiipush receive` does. If its sources have ended, dead letters in memory are lost messages, too. A second
    /// signal ends the process at once. SIGHUP is caught as well: it loads the rules file again. From then on the
    /// process ignores SIGPIPE and SIGXFSZ, and no longer ignores SIGCHLD if whoever started it did.
    ///
    /// It is for the `main` of a program that is nothing but this agent. A program with services of its own, or a test,
    /// calls ``exitCode(_:)``, which never ends the process, except by a second signal.
    ///
    /// - Parameter sources: where payloads come from: `.mqtt`, `.unix`, `.stdin`, or transports of your own.
    /// - Throws: ``AgentError`` if it has run before.
    public func run<each Source: PushTransport>(_ sources: repeat each Source) async throws {
        let code = try await exitCode(repeat each sources)
        if code != 0 { exitProcess(code) }
    }

    /// Runs as ``run(_:)`` does, and returns the exit code instead of ending the process.
    ///
    /// - Parameter sources: where payloads come from.
    /// - Returns: 0 if it stopped cleanly, 1 if it could not start or go on, or lost messages.
    /// - Throws: ``AgentError`` if it has run before.
    public func exitCode<each Source: PushTransport>(_ sources: repeat each Source) async throws -> Int32 {
        var all: [any PushTransport] = []
        repeat all.append(each sources)
        return try await exitCode(sources: all)
    }

    /// Runs as ``run(_:)`` does, with a list of sources, such as those of a configuration.
    public func run(sources: [any PushTransport]) async throws {
        let code = try await exitCode(sources: sources)
        if code != 0 { exitProcess(code) }
    }

    /// Runs as ``exitCode(_:)`` does, with a list of sources.
    public func exitCode(sources: [any PushTransport]) async throws -> Int32 {
        let isFirst = changing.withLock { changing in
            defer { changing.hasRun = true }
            return !changing.hasRun
        }
        guard isFirst else { throw AgentError("an agent runs once; make another one") }
        defer { host.finish() }
        guard host.start() else {
            state?.leaveNothing()
            return ExitCode.failed.rawValue
        }
        let code = await withTaskCancellationHandler {
            await serve(sources)
        } onCancel: {
            host.stop.make()
        }
        return code.rawValue
    }

    /// Runs on signals that are caught already.
    package func serve(_ sources: [any PushTransport]) async -> ExitCode {
        var made: AgentRun?
        // Another agent may use the directory, though somebody still holds this one.
        defer { state?.close() }
        do {
            let run = try AgentRun(self, sources)
            made = run
            let code = try await run.run()
            // A start that fails before anything arrived leaves no directory behind that it created.
            if code != .fine, run.hasNothing { state?.leaveNothing() }
            return code
        } catch {
            if made?.hasNothing ?? true { state?.leaveNothing() }
            host.fail("\(error)")
            return .failed
        }
    }
}
