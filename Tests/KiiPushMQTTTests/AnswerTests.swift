#if MQTT
import KiiPush
import KiiPushContracts
import KiiPushDelivery
import Synchronization
import Testing

@testable import KiiPushMQTT
@testable import KiiPushTestSupport

/// Answers over a real broker: to the response topic, with the correlation data, once the broker has confirmed them.
@Suite(.timeLimit(.minutes(2)))
struct AnswerTests {
    static func answer(
        _ id: UInt64, to topic: String?, _ answer: Answer = .succeeded(.object([(key: "on", value: .bool(true))]))
    ) -> UnsentAnswer {
        var payload = RawPayload("{}", transport: .mqtt)
        var mqtt = MQTTPublish(topic: "cmd/a/set")
        (mqtt.responseTopic, mqtt.correlationData) = (topic, [0, 255, UInt8(truncatingIfNeeded: id)])
        payload.mqtt = mqtt
        return UnsentAnswer(id: id, sender: "mqtt", payload: payload, answer: answer)
    }

    @Test("it meets the contract of a sender of answers")
    func contract() async { await AnswerSenderContract { try await BrokerBench() }.verify() }

    @Test("an answer arrives with correlation data, status and number, and its send returns after the confirmation")
    func arrives() async throws {
        let bench = try await BrokerBench()
        try await bench.sender.send(Self.answer(7, to: "answers/me"))
        try await bench.sender.send(Self.answer(8, to: "answers/me", .failed("the valve is stuck")))
        try await bench.sender.send(Self.answer(9, to: "answers/me", Answer(.succeeded)))
        let watcher = bench.watcher
        try await eventually("all came") { watcher.texts.count == 3 }
        #expect(watcher.texts == [#"{"on":true}"#, #"{"error":"the valve is stuck"}"#, "{}"])
        let first = try #require(watcher.payloads[0].mqtt)
        #expect(first.correlationData == [0, 255, 7] && first.contentType == "application/json")
        #expect(first["status"] == "succeeded" && first["number"] == "7" && first.responseTopic == nil)
        #expect(watcher.payloads[1].mqtt?["status"] == "failed")
    }

    @Test("an answer waits for the connection, and is published again if the link breaks before its confirmation")
    func waits() async throws {
        let broker = try Broker()
        let relay = try Relay(to: broker.port)
        let bench = try await BrokerBench(broker, port: relay.port)
        for round in 1...5 {
            relay.cut()
            let sends = (0..<20).map { number in
                Task { try await bench.sender.send(Self.answer(UInt64(round * 100 + number), to: "answers/me")) }
            }
            if round.isMultiple(of: 2) { relay.cut() }
            for send in sends { try await send.value }
        }
        try await eventually("all came") { bench.received() == 100 }
    }

    @Test("an answer is confirmed though the inbox can store nothing of what a kept session brings")
    func withoutRoom() async throws {
        let broker = try Broker()
        let settings = broker.settings { ($0.version, $0.subscriptions) = (.v5, [.init("cmd/+/set")]) }
        try await running(settings, TestIntake()) { _ in }
        try await broker.sawEnd()
        // More than the broker sends without acknowledgements.
        try broker.publish((1...30).map(String.init), to: "cmd/a/set")
        let intake = TestIntake()
        intake.refuse(.failed(TestError()))
        try await running(settings, intake, connects: false) { transport in
            try await transport.send(Self.answer(7, to: "answers/me"))
            intake.refuse(nil)
            try await eventually("all came") { Set(intake.texts).count == 30 }
        }
    }

    @Test("what can never be delivered is refused with the reason")
    func refused() async throws {
        let broker = try Broker([
            "allow_anonymous true", "acl_file FOLDER/acl",
        ]) { folder in
            try folder.write("topic write answers/me\ntopic read push\n", to: "acl")
        }
        try await running(broker.settings { $0.version = .v5 }, TestIntake()) { transport in
            for (topic, reason) in [
                ("secret/x", "the broker refuses it"), ("a/+/b", "cannot be published"), (nil, "no response topic"),
            ] {
                let error = await #expect(throws: AnswerRefused.self) {
                    try await transport.send(Self.answer(1, to: topic))
                }
                #expect(error?.description.contains(reason) == true, "\(topic ?? "-"): \(error?.description ?? "-")")
            }
            try await transport.send(Self.answer(2, to: "answers/me"))
        }
        try await running(broker.settings(), TestIntake()) { transport in
            await #expect(throws: AnswerRefused("it cannot be published: only MQTT 5 has answers")) {
                try await transport.send(Self.answer(3, to: "answers/me"))
            }
        }
    }

    @Test("an answer that exceeds the broker's quota is not refused for good")
    func quota() async throws {
        let link: [[UInt8]] = [[0x20, 3, 0, 0, 0], [0x90, 4, 0, 1, 0, 1], [0x40, 3, 0, 2, 0x97], [0x40, 2, 0, 3]]
        let broker = try ScriptedBroker(answers: [link], 2000)
        try await running(broker.settings(.v5), TestIntake()) { transport in
            let error = await #expect(throws: AnswerNotTaken.self) {
                try await transport.send(Self.answer(1, to: "answers/me"))
            }
            #expect(error?.report.lowercased().contains("quota") == true)
            try await transport.send(Self.answer(1, to: "answers/me"))
        }
    }

    @Test("a send that is cancelled while its answer is being published ends at once")
    func cancelledWhilePublished() async throws {
        let outgoing = Outgoing()
        let send = Task { try await outgoing.send(Self.answer(5, to: "answers/me")) }
        var items: [Outgoing.Item] = []
        try await eventually("it waits") {
            items = outgoing.waiting
            return !items.isEmpty
        }
        send.cancel()
        outgoing.published(items[0], as: 1)
        outgoing.confirmed(1, nil)
        await #expect(throws: CancellationError.self) { try await send.value }
    }

    @Test("it takes messages with a response topic and one of its own topics")
    func takes() throws {
        let broker = try Broker()
        let transport = try MQTTTransport(broker.settings { $0.subscriptions = [.init("cmd/+/set")] })
        for (topic, response, isTaken) in [
            ("cmd/a/set", "r", true), ("cmd/a/set", nil, false), ("log/a", "r", false),
        ] as [(String, String?, Bool)] {
            var payload = RawPayload("{}", transport: .mqtt)
            var mqtt = MQTTPublish(topic: topic)
            mqtt.responseTopic = response
            payload.mqtt = mqtt
            #expect(transport.takes(try PushMessage(payload)) == isTaken, "\(topic) \(response ?? "-")")
        }
    }
}

/// A transport and a client that reads its answers, over a broker that can be stopped.
private final class BrokerBench: AnswerBench {
    let sender: any AnswerSender
    let command: RawPayload = AnswerTests.answer(0, to: "answers/me").payload
    /// Reads the topic `answers/#`.
    let watcher = TestIntake()
    private let broker: Broker
    private let runs: [Task<Void, any Error>]

    init(_ broker: Broker? = nil, port: Int? = nil) async throws {
        let broker = try broker ?? Broker()
        let device = try MQTTTransport(
            broker.settings {
                ($0.version, $0.subscriptions) = (.v5, [.init("cmd/+/set")])
                if let port { $0.port = port }
            })
        let reader = try MQTTTransport(
            broker.settings { ($0.clientID, $0.version, $0.subscriptions) = ("watcher", .v5, [.init("answers/#")]) })
        (self.broker, sender) = (broker, device)
        runs = [(device, TestIntake()), (reader, watcher)].map { transport, intake in
            Task { try await transport.run(PushIntake(service: intake, transport: "mqtt")) }
        }
        try await eventually("the reader is connected") { [watcher] in !watcher.connections.isEmpty }
    }

    deinit { for run in runs { run.cancel() } }

    func received() -> Int { Set(watcher.payloads.compactMap { $0.mqtt?["number"] }).count }
    func cut() throws { try broker.stop() }
    func mend() throws { try broker.start() }
}
#endif
