import Glibc
import KiiPush
import KiiPushDelivery
import KiiPushRules
import KiiPushAgent
import KiiPushSystem
import KiiPushTesting
import Testing

/// The code of doc comments, so that it compiles.
@Suite("Documented code of KiiPushAgent", .timeLimit(.minutes(5)))
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

    @Test("reports shortages")
    func shortages() {
        let shortages = Shortages { change in print(change) }
        let actions = ProgramActions(shortages: shortages)
        withExtendedLifetime(actions) {}
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
        let manager = ServiceManager()
        manager.ready()
        let running = Task { try await service.run() }
        let signals = StopSignals { running.cancel() }
        withExtendedLifetime(signals) {}
    }
}
