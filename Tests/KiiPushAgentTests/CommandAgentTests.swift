import KiiPush
import KiiPushDelivery
import KiiPushTesting
import Synchronization
import Testing

@testable import KiiPushAgent
@testable import KiiPushTestSupport

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

    @Test("a transport of one's own passes the answer on by the receipt, with wrappers around it")
    func receipt() async throws {
        let answers = Mutex<[String]>([])
        let agent = try PushAgent(state: .memory)
        register(agent)
        let command = ScriptedTransport(abilities: [.acknowledges, .answers]) { intake in
            let receipt = try await intake.submitWaiting(RawPayload(Self.command))
            _ = await receipt.end()
            answers.withLock { $0.append(receipt.answer?.json ?? "none") }
        }
        #expect(try await agent.exitCode(command) == 0)
        #expect(answers.withLock { $0 } == [#"{"status":"succeeded","data":{"power":true}}"#])
    }
}
