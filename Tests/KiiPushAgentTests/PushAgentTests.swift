import KiiPush
import KiiPushContracts
import KiiPushDelivery
import KiiPushRules
import KiiPushSystem
import Synchronization
import Testing

@testable import KiiPushAgent
@testable import KiiPushTestSupport

@Suite("An agent of one's own", .timeLimit(.minutes(5)))
struct PushAgentTests {
    private let folder: Folder

    init() throws { folder = try Folder() }

    private static let ring = RawPayload(#"{"topic":"door","when":1,"objectScopeType":"APP"}"#)

    /// Brings one payload, asks the agent's control socket, and brings another one.
    private func asking(_ between: @escaping @Sendable () async throws -> Void = {}) -> ScriptedTransport {
        ScriptedTransport { intake in
            intake.report(.connected("here"))
            _ = await (try await intake.submitWaiting(Self.ring)).end()
            try await between()
            let next = RawPayload(#"{"topic":"door","when":2,"objectScopeType":"APP"}"#)
            _ = await (try await intake.submitWaiting(next)).end()
        }
    }

    @Test("answers the tool, obeys a kill, and ends with 0 after its source")
    func operated() async throws {
        let state = folder.path
        let agent = try PushAgent(app: "0123abcd", state: .directory(state))
        agent.onPushToUser(id: "door", topic: "door") { _, _ in }
        let outcomes = Mutex<[String]>([])
        agent.onTrace { trace in outcomes.withLock { $0.append("\(trace.outcome)") } }
        let answers = Mutex<[Int32]>([])
        let code = try await agent.exitCode(
            asking {
                let control = ControlSocket(state: state)
                for command in [["status"], ["dead-letters", "list"]] {
                    let answer = try await control.firstLine(of: command).code
                    answers.withLock { $0.append(answer) }
                }
                _ = try KillFile(directory: state).kill(.route("door"), until: UTCDate.now.advanced(by: .seconds(60)))
                let (code, line) = try await control.firstLine(of: ["who", "door"])
                answers.withLock { $0.append(code) }
                #expect(AgentIdentity(json: line)?.killed == ["door"] && AgentIdentity(json: line)?.instead == nil)
            })
        #expect(code == 0)
        #expect(answers.withLock { $0 } == [0, 0, 0])
        #expect(outcomes.withLock { $0 } == ["handled", "looped (killSwitch)"])
    }

    /// Lines that begin with an id.
    private struct Lines: PayloadFormat {
        let name = "lines"

        func recognise(_ payload: borrowing PayloadView) -> Evidence? {
            payload.text?.hasPrefix("id=") == true ? Evidence(["id"]) : nil
        }

        func read(_ payload: borrowing PayloadView) throws(DecodeError) -> ForeignPush {
            ForeignPush(id: payload.text, type: "reading")
        }
    }

    private static let lines = ScriptedTransport { intake in
        for text in ["id=1\nx=2", "id=1\nx=2", "id=3", "x=4"] {
            _ = await (try await intake.submitWaiting(RawPayload(text))).end()
        }
    }

    @Test("reads a custom format, and captures the original bytes")
    func ownFormat() async throws {
        var settings = AgentSettings()
        settings.formats = .shipped.adding(Lines())
        settings.capture = folder["captured"]
        settings.metrics = folder["metrics"]
        let agent = try PushAgent(state: .directory(folder.path), settings: settings)
        agent.onDirectPush(id: "readings", format: "lines", type: "reading") { _, _ in }
        let outcomes = Mutex<[String]>([])
        agent.onTrace { trace in outcomes.withLock { $0.append("\(trace.outcome.name)") } }
        #expect(try await agent.exitCode(Self.lines) == 0)
        #expect(outcomes.withLock { $0 } == ["handled", "duplicate", "handled", "undecodable"])
        let captured = try folder.read("captured").split(separator: "\n")
        let texts = [#""id=1\nx=2""#, #""id=1\nx=2""#, #""id=3""#, #""x=4""#]
        #expect(captured.map { $0.drop { $0 != "," } } == texts.map { #","raw":\#($0)}"# })
        #expect(try folder.read("metrics").contains(#"kiipush_format_messages_total{format="lines"} 3"#))
    }

    @Test("handlers run on the executor of the settings")
    func executor() async throws {
        let executor = OwnThreads.Executor(count: 1)
        var settings = AgentSettings()
        settings.executor = executor
        let agent = try PushAgent(state: .memory, settings: settings)
        let calls = Mutex<[Bool]>([])
        agent.onPushToUser(id: "door", topic: "door") { _, _ in
            let isThere = unsafe withUnsafeCurrentTask { task in
                unsafe task?.unownedTaskExecutor == executor.asUnownedTaskExecutor()
            }
            calls.withLock { $0.append(isThere) }
        }
        #expect(try await agent.exitCode(asking()) == 0)
        #expect(calls.withLock { $0 } == [true, true])
    }

    @Test("a listener of an agent's events is called until its token removes it")
    func events() async throws {
        let agent = try PushAgent(state: .directory(folder.path))
        let (kept, removed) = (EventLog(), EventLog())
        agent.onEvent { kept.add("\($0)") }
        agent.onEvent { removed.add("\($0)") }.remove()
        #expect(try await agent.exitCode(ScriptedTransport { $0.report(.connected("here")) }) == 0)
        #expect(kept.events.contains { $0.contains("here") } && removed.events.isEmpty)
    }

    @Test(
        "runs once, and locks its directory until it has run, though it failed and somebody holds it",
        arguments: [0, 1])
    func once(code: Int32) async throws {
        let agent = try PushAgent(state: .directory(folder.path))
        #expect(throws: AgentError.self) { try PushAgent(state: .directory(folder.path)) }
        let transport = ScriptedTransport { intake in
            _ = await (try await intake.submitWaiting(Self.ring)).end()
            if code != 0 { throw TestError() }
        }
        #expect(try await agent.exitCode(sources: [transport]) == code)
        let next = try PushAgent(state: .directory(folder.path))
        #expect(try await next.exitCode(asking()) == 0)
        await #expect(throws: AgentError.self) { try await agent.exitCode(asking()) }
    }

    @Test("a broker that refuses the agent is a shortage, which no other connection hides, until it lets the agent in")
    func refusedByBroker() async throws {
        let (first, other) = (HandTransport(), HandTransport())
        let agent = try PushAgent(state: .directory(folder.path))
        let run = Task {
            try await agent.exitCode(
                ScriptedTransport(name: "a") { try await first.run($0) },
                ScriptedTransport(name: "b") { try await other.run($0) })
        }
        let (refused, connected) = (await first.intake(), await other.intake())
        refused.report(.refused("no right", retryIn: .seconds(60)))
        connected.report(.connected("there"))
        let status = try await ControlSocket(state: folder.path).firstLine(of: ["status"])
        #expect(status.code == 1 && status.line.contains(#""broker""#), "\(status)")
        refused.report(.connected("let in"))
        #expect(try await ControlSocket(state: folder.path).firstLine(of: ["status"]).code == 0)
        run.cancel()
        #expect(try await run.value == 0)
    }

    private static func host(isQuiet: Bool) -> (AgentHost, EventLog) {
        let log = EventLog()
        let host = AgentHost(isQuiet: isQuiet) { line in
            log.add(line)
            return true
        }
        return (host, log)
    }

    private static func noRules() throws -> RoutingRules { try RoutingRules(#"{"version":1,"rules":[]}"#) }

    @Test("a capture that cannot be written is reported once")
    func noCapture() async throws {
        var settings = AgentSettings()
        settings.capture = "/nowhere/captured"
        let (host, log) = Self.host(isQuiet: false)
        #expect(try await PushAgent(host, Self.noRules(), app: nil, .memory, settings).exitCode(Self.lines) == 0)
        #expect(log.events.count { $0.contains("/nowhere/captured") } == 1)
    }

    @Test("dead letters of messages that end with the process are lost, and an error; no line names the tool's options")
    func lostLetters() async throws {
        let (host, log) = Self.host(isQuiet: false)
        var settings = AgentSettings()
        settings.silentAfter = [SilenceLimit(route: "window", length: .seconds(60))]
        let agent = try PushAgent(host, Self.noRules(), app: nil, .memory, settings)
        var once = DeliverySettings()
        once.attempts = 1
        agent.onPushToUser(id: "door", topic: "door", options: RouteOptions(delivery: once)) { _, _ in throw TestError()
        }
        #expect(try await agent.exitCode(asking()) == 1)
        #expect(log.events.contains { $0.contains("lost: 2 dead letters, kept in memory only") })
        #expect(!log.events.contains { $0.contains(" --") })
        #expect(log.events.contains { $0.contains("unknown route 'window'") })
    }

    @Test(
        "metrics and captures never replace the agent's own files, by whatever name",
        arguments: ["kiipush.db", "kiipush.db-wal", "agent.lock", "kill.json", "client-id", "mqtt-retained.lost"])
    func ownFiles(name: String) throws {
        try folder.link("link", to: "state/\(name)")
        var settings = AgentSettings()
        for change: (inout AgentSettings) -> Void in [
            { $0.metrics = folder["link"] }, { $0.capture = "\(folder["state"])/../state/\(name)" },
        ] {
            var settings = settings
            change(&settings)
            let error = #expect(throws: AgentError.self) {
                try PushAgent(state: .directory(folder["state"]), settings: settings)
            }
            #expect(error?.description.contains("belongs to the agent's state; name another file") == true)
        }
        #expect(folder.names == ["link"])
        (settings.metrics, settings.capture) = (folder["state/metrics.prom"], folder["state/kiipushes.jsonl"])
        _ = try PushAgent(state: .directory(folder["state"]), settings: settings)
    }

    @Test("a chain that forgets with the process though there is a state, or is in another order, is warned of")
    func chain() async throws {
        let (host, log) = Self.host(isQuiet: true)
        let agent = try PushAgent(host, .directory(folder.path), AgentSettings()) { stores in
            PushReceiver(deadLetters: stores.deadLetters) {
                LoopGuard()
                Deduplicator()
            }
        }
        #expect(try await agent.exitCode(ScriptedTransport { _ in }) == 0)
        #expect(log.events.contains { $0.contains("does not use the deduplicator") } == AgentState.isDurable)
        #expect(log.events.contains { $0.contains("LoopGuard comes before Deduplicator") })
        let (usual, usualLog) = Self.host(isQuiet: true)
        let rules = try Self.noRules()
        let next = try PushAgent(usual, rules, app: nil, .directory(folder.path), AgentSettings())
        #expect(try await next.exitCode(ScriptedTransport { _ in }) == 0)
        #expect(!usualLog.events.contains { $0.contains("eduplicator") })
    }

    @Test("an agent that cannot be made ends its program with one line and exit code 1")
    func cannotBeMade() async throws {
        let ended = await #expect(processExitsWith: .exitCode(1), observing: [\.standardErrorContent]) {
            _ = PushAgent.orExit { try PushAgent(state: .directory("")) }
        }
        let errors = String(decoding: try #require(ended).standardErrorContent, as: UTF8.self)
        #expect(errors == "kiipush: the path of the state directory is empty; name one, or use .memory\n")
    }

    @Test("a reload warns of settings that wait for the next start or name no route; the status has a refused file")
    func needsRestart() async throws {
        let door = #"{"id":"door","then":{"print":true}}"#
        let file = try folder.write(#"{"version":1,"app":"0123abcd","rules":[\#(door)]}"#, to: "rules.json")
        let (host, log) = Self.host(isQuiet: true)
        let state = folder["state"]
        var settings = AgentSettings()
        settings.silentAfter = [SilenceLimit(route: "door", length: .seconds(60))]
        let agent = try PushAgent(host, RoutingRules(contentsOf: file), app: nil, .directory(state), settings)
        agent.rules = .file(file)
        let seen = Mutex<[AgentStatus.Rules]>([])
        let source = asking { [folder] in
            let app = #"{"version":1,"app":"89abcdef","rules":[]}"#
            for (text, last) in [(app, "; restart for app"), ("{", ":1:2: the text ends"), (app, "restart for app")] {
                let known = log.events.count
                try folder.write(text, to: "rules.json")
                #expect(await comes { log.events.dropFirst(known).contains { $0.contains(last) } })
                let line = try await ControlSocket(state: state).firstLine(of: ["status"]).line
                if let rules = AgentStatus(json: line)?.rules { seen.withLock { $0.append(rules) } }
            }
        }
        #expect(try await agent.exitCode(source) == 0)
        let rules = seen.withLock { $0 }
        #expect(rules.map(\.needRestart) == [["app"], ["app"], ["app"]] && Set(rules.map(\.digest)).count == 1)
        #expect(rules.map { $0.refused?.contains("rules.json:1:2: the text ends") } == [nil, true, nil])
        // The new rules have no such route.
        #expect(log.events.count { $0.contains("limits of silence: unknown route 'door'") } == 2)
    }

    @Test("the log names the transport that failed, and those that share a name")
    func failedTransport() async throws {
        let (host, log) = Self.host(isQuiet: true)
        let agent = try PushAgent(host, Self.noRules(), app: nil, .memory, AgentSettings())
        let sources = ["door", "door", "window"].map { name in
            ScriptedTransport(name: name) { _ in if name == "window" { throw TestError() } }
        }
        #expect(try await agent.exitCode(sources: sources) == 1)
        #expect(
            log.events.filter { $0.contains("door") }.map { $0.contains("several sources are named door") } == [true])
        #expect(log.events.last == "kiipush: window: TestError()")
    }

    @Test("an empty path, no source, two brokers or an unknown handler end it with 1 at the start")
    func refused() async throws {
        var settings = AgentSettings()
        settings.metrics = ""
        #expect(throws: AgentError.self) { try PushAgent(state: .memory, settings: settings) }
        #expect(try await PushAgent(state: .memory).exitCode(sources: []) == 1)
        let brokers = try PushAgent(state: .memory)
        #expect(try await brokers.exitCode(.mqtt("mqtt://127.0.0.1/a"), .mqtt("mqtt://127.0.0.1/b")) == 1)
        let rules = "\(folder.path)/rules.json"
        try folder.write(
            #"{"version":1,"rules":[{"id":"door","when":{"topic":"door"},"then":{"handler":"ring"}}]}"#,
            to: "rules.json")
        let agent = try PushAgent(state: .memory)
        agent.rules = .file(rules)
        #expect(try await agent.exitCode(asking()) == 1)
        #expect(agent.receiver.metrics.received == 0)
    }
}
