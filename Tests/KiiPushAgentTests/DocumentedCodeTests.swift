import Glibc
import KiiPush
import KiiPushDelivery
import KiiPushRules
import KiiPushAgent
import KiiPushSystem
import KiiPushTesting
import Testing

/// The code of doc comments, so that it compiles.
@Suite("Documented code of KiiPushAgent", .timeLimit(.minutes(1)))
struct DocumentedCodeTests {
    @Test("an alert is shown by a handler")
    func presenter() async {
        let receiver = PushReceiver()
        let presenter = AlertPresenter(appName: "Thermostat", to: .desktop())
        receiver.onPushToUser(topic: "news") { event, _ in try await presenter.show(event.message) }
        // No alert, so that no program is started here.
        let silent = PayloadFixture.pushToUser().payload(.long)
        #expect(await receiver.receive(silent).name == "handled")
    }

    @Test("a file that is missing cannot be read")
    func readFile() {
        #expect(throws: ReadError.self) {
            let bytes = try ByteReader(path: "a.json").readAll(limit: 65_536)
            print(bytes.count)
        }
    }

    @Test("a log and what is lacking are told of")
    func shortages() {
        let write: @Sendable (String) -> Bool = { _ in true }
        let shortages = Shortages { change in print(change) }
        let actions = ProgramActions(shortages: shortages)
        let log = LogWriter { line in write(line) }
        log.add("<6>kiipush: ready")
        #expect(log.finish(within: .seconds(20)))
        withExtendedLifetime(actions) {}
    }

    /// Compiled only: a test has no standard input of its own.
    private func readLines() throws {
        var lines = LineReader(.standardInput(), limit: 65_536)
        while let line = try lines.next() { print(line) }
    }

    @Test("a loop guard obeys a kill file, and a program learns of a file's changes")
    func watching() async {
        let receiver = PushReceiver()
        guard let loopGuard = receiver.loopGuard else { return }
        let watch = KillFileWatch(KillFile(directory: "/var/lib/agent"), for: loopGuard) { trouble in print(trouble) }
        let following = Task { await watch.run() }
        following.cancel()
        await following.value
        #expect(!watch.wait(timeout: .zero))
    }

    /// Compiled only: it ends when somebody cancels the watcher.
    private func watchRules(load: () -> Void) {
        let watcher = FileWatcher(path: "/etc/kiipush/rules.json")
        while watcher.wait(timeout: .seconds(60)) != .cancelled { load() }
    }

    @Test("a receiver's rules follow a file")
    func rules() async {
        let receiver = PushReceiver()
        let watch = RulesWatch(path: "/etc/agent/rules.json", gate: RulesGate(receiver)) { update in print(update) }
        let following = Task { await watch.run() }
        following.cancel()
        await following.value
        #expect(receiver.rulesGeneration == 0)
    }

    @Test("links, latencies and silence are watched")
    func watchingService() async throws {
        let receiver = PushReceiver()
        let transport = LinesTransport(descriptor: try Pipe().readEnd)
        let counts = ServiceCounts()
        let service = PushService(receiver, [WatchedTransport(transport, counts)])
        service.onEvent { counts.count($0) }
        let latencies = RouteLatencies()
        receiver.onTrace { latencies.count($0) }
        let silence = SilenceWatch([SilenceLimit(route: "news", length: .seconds(3600))])
        receiver.onTrace { silence.saw($0) }
        let watching = Task { await silence.run { change in print(change) } }
        watching.cancel()
        await watching.value
        #expect(counts.links.map(\.name) == ["stdin"] && latencies.times.isEmpty)
    }

    @Test("a text is made safe for a terminal where it is printed")
    func escaped() {
        let alert = (title: "t", body: "a\u{1B}[2J")
        print("alert: \(EscapedText(alert.body))")
        #expect("\(EscapedText(alert.body))" == #"a\u{1B}[2J"#)
    }

    /// Compiled only: a test has no standard input of its own, and its process is not to be stopped.
    private func services(_ receiver: PushReceiver, _ rules: RoutingRules) async throws {
        do {
            let service = PushService(receiver, [LinesTransport(transport: .mqtt)])
            try await service.run()
        }
        try receiver.load(rules, actions: ProgramActions(app: rules.app))
        let service = PushService(receiver, [SocketTransport(path: "/run/agent/push.sock")])
        receiver.onTrace { trace in print(JournalLine(trace)) }
        service.onEvent { event in print(JournalLine(event)) }
        let counts = ServiceCounts()
        service.onEvent { counts.count($0) }
        let metrics = MetricsFile(path: "/var/lib/node_exporter/kiipush.prom")
        try metrics.write(receiver.metrics, service.status)
        let manager = ServiceManager()
        manager.ready()
        let running = Task { try await service.run() }
        let signals = StopSignals { running.cancel() }
        withExtendedLifetime(signals) {}
    }
}
