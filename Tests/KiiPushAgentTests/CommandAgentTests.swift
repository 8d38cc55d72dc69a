import KiiPush
import KiiPushDelivery
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPushAgent

@Suite("An agent's answers to commands", .timeLimit(.minutes(5)))
struct CommandAgentTests {
    /// Registers the guide's handlers.
    private func register(_ agent: some HandlerRegistry) {
        agent.onCommand("power", action: "turnPower") { command, context in
            try context.answer(.succeeded(.object([(key: "power", value: .bool(true))])))
        }
        agent.onCommand("lamp", mqtt: MQTTPattern(topic: "cmd/+/set")) { command, context in
            guard let level = command.data["level"] else { return try context.answer(.failed("no level is given")) }
            try context.answer(.succeeded(.object([(key: "level", value: level)])))
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
            (request(#"{"level":3}"#), Answer.succeeded(.object([(key: "level", value: .number("3"))]))),
            (request("{}"), .failed("no level is given")), (request(#"{"level":3}"#, isRequest: false), nil),
            (RawPayload(command), .succeeded(.object([(key: "power", value: .bool(true))]))),
        ])
    func documented(payload: RawPayload, answer: Answer?) async throws {
        let clock = ManualClock()
        let receiver = PushReceiver(clock: clock)
        register(receiver)
        #expect(await TestReceiver(receiver, clock: clock).send(payload).answer == answer)
    }

    /// Brings one payload, and notes its answer.
    private struct OneCommand: PushTransport {
        let name = "one"
        let abilities: TransportAbilities = [.acknowledges, .answers]
        let payload: RawPayload
        let note: @Sendable (String) -> Void

        func run(_ intake: PushIntake) async throws {
            let receipt = try await intake.submitWaiting(payload)
            _ = await receipt.end()
            note(receipt.answer?.json ?? "none")
        }
    }

    @Test("a transport of one's own passes the answer on by the receipt, with wrappers around it")
    func receipt() async throws {
        let answers = Mutex<[String]>([])
        let agent = try PushAgent(state: .memory)
        register(agent)
        let command = OneCommand(payload: RawPayload(Self.command)) { answer in answers.withLock { $0.append(answer) } }
        #expect(try await agent.exitCode(command) == 0)
        #expect(answers.withLock { $0 } == [#"{"status":"succeeded","data":{"power":true}}"#])
    }
}
