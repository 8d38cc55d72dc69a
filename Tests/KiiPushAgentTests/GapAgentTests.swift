import Glibc
import KiiPush
import KiiPushDelivery
import KiiPushRules
import KiiPushSystem
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPushAgent
@testable import KiiPushTestSupport

@Suite("An agent's gaps, and what MQTT says to its handlers", .timeLimit(.minutes(5)))
struct GapAgentTests {
    private let folder: Folder

    init() throws { folder = try Folder() }

    /// Brings one payload, and waits for its end.
    private func oneMessage(_ payload: RawPayload, gap: TransportEvent? = nil) -> ScriptedTransport {
        ScriptedTransport(name: "mqtt", abilities: [.acknowledges]) { intake in
            intake.report(.connected("here"))
            if let gap { intake.report(gap) }
            let outcome = await (try await intake.submitWaiting(payload)).end()
            #expect(outcome?.name == "handled")
        }
    }

    private static let set: RawPayload = {
        var payload = RawPayload(#"{"value":"21"}"#, transport: .mqtt)
        payload.mqtt = MQTTPublish(topic: "cmd/lamp/set")
        return payload
    }()

    @Test("the guide's handlers get the topic, and the gap before the message")
    func documented() async throws {
        let lines = Mutex<[String]>([])
        let own = try PushAgent(state: .memory)
        let agent = Noting(own.receiver) { line in lines.withLock { $0.append(line) } }
        agent.onDirectPush(mqtt: MQTTPattern(topic: "cmd/+/set", isRetained: false)) { event, context in
            agent.note("\(context.mqtt?.topic ?? "?") gets \(event.data["value"]?.string ?? "nothing")")
        }
        agent.onGap { gap, context in
            agent.note("fetching everything again: \(gap)")
        }
        let lost = TransportEvent.possibleGap("the broker has forgotten", cause: .sessionLost)
        let code = try await own.exitCode(oneMessage(Self.set, gap: lost))
        #expect(code == 0)
        let told = lines.withLock { $0 }
        // The two gaps are handled beside each other.
        #expect(
            told.prefix(2).sorted() + told.dropFirst(2) == [
                "fetching everything again: firstStart of any transport: no message was ever accepted here",
                "fetching everything again: sessionLost of mqtt: the broker has forgotten",
                "cmd/lamp/set gets 21",
            ])
    }

    @Test("the first start of a state is a gap, handled once before its first message")
    func firstStart() async throws {
        let log = Mutex<[String]>([])
        for number in 1...3 {
            let agent = try PushAgent(state: .directory(folder.path))
            agent.onGap { gap, _ in log.withLock { $0.append(gap.cause.rawValue) } }
            agent.onDirectPush { _, _ in log.withLock { $0.append("\(number)") } }
            #expect(try await agent.exitCode(oneMessage(RawPayload(#"{"n":\#(number)}"#))) == 0)
        }
        let again = AgentState.isDurable ? [] : ["firstStart"]
        #expect(log.withLock { $0 } == ["firstStart", "1"] + again + ["2"] + again + ["3"])
    }
}

/// An agent whose notes a test reads; its handlers, which the receiver keeps, must not keep that.
private final class Noting: HandlerRegistry {
    private weak let kept: PushReceiver?
    let note: @Sendable (String) -> Void
    var receiver: PushReceiver { kept ?? PushReceiver() }

    init(_ receiver: PushReceiver, _ note: @escaping @Sendable (String) -> Void) {
        (kept, self.note) = (receiver, note)
    }
}

@Suite("An agent's answers to commands", .timeLimit(.minutes(5)))
struct CommandAgentTests {
    private func register(_ agent: some HandlerRegistry) {
        agent.onCommand(id: "power", action: "turnPower") { command, context in
            try context.answer(.succeeded(["power": true]))
        }
        agent.onCommand(id: "lamp", mqtt: MQTTPattern(topic: "cmd/+/set")) { command, context in
            guard let level = command.data["level"] else { return try context.answer(.failed("no level is given")) }
            try context.answer(.succeeded(["level": level]))
        }
    }

    private static func request(_ text: String, isRequest: Bool = true) -> RawPayload {
        var payload = RawPayload(text, transport: .mqtt)
        var mqtt = MQTTPublish(topic: "cmd/lamp/set")
        if isRequest { (mqtt.responseTopic, mqtt.correlationData) = ("r", Array(text.utf8)) }
        payload.mqtt = mqtt
        return payload
    }

    private static let command = #"{"commandID":"c","actions":[{"lamp":[{"turnPower":true}]}]}"#

    @Test(
        "a test sees the answers of the guide's handlers",
        arguments: [
            (request(#"{"level":3}"#), Answer.succeeded(["level": 3])),
            (request("{}"), .failed("no level is given")), (request(#"{"level":3}"#, isRequest: false), nil),
            (RawPayload(command), .succeeded(["power": true])),
        ])
    func documented(payload: RawPayload, answer: Answer?) async throws {
        let clock = ManualClock()
        let receiver = PushReceiver(clock: clock)
        register(receiver)
        #expect(await (try TestReceiver(receiver)).send(payload).answer == answer)
    }

    @Test("a transport of one's own passes the answer on by the receipt, with wrappers around it")
    func receipt() async throws {
        let answers = Mutex<[String]>([])
        let agent = try PushAgent(state: .memory)
        register(agent)
        let command = ScriptedTransport(abilities: [.acknowledges, .answers]) { intake in
            let receipt = try await intake.submitWaiting(RawPayload(Self.command))
            _ = await receipt.end()
            answers.withLock { $0.append(receipt.answer?.jsonText ?? "none") }
        }
        #expect(try await agent.exitCode(command) == 0)
        #expect(answers.withLock { $0 } == [#"{"status":"succeeded","data":{"power":true}}"#])
    }
}

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
