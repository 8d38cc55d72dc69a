#if MQTT
import Foundation
import KiiPush
import KiiPushContracts
import KiiPushDelivery
import KiiPushMQTT
import Synchronization
import Testing

@testable import KiiPushTestSupport

/// What is acknowledged, and when.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct DeliveryTests {
    @Test("messages arrive in order, and nothing is left at the broker", arguments: MQTTSettings.Version.allCases)
    func order(version: MQTTSettings.Version) async throws {
        let broker = try Broker()
        let settings = broker.settings { $0.version = version }
        let texts = (1...300).map { "{\"n\":\($0)}" }
        let intake = TestIntake()
        try await running(settings, intake) { transport in
            try broker.publish(texts)
            try await eventually("all came") { intake.texts.count >= texts.count }
            #expect(transport.counts.taken == texts.count)
        }
        #expect(intake.texts == texts)
        #expect(
            intake.payloads.allSatisfy { $0.transport == .mqtt && $0.transportMessageID == nil && !$0.isRedelivered })
        #expect(intake.batches.allSatisfy { $0 <= 64 })
        #expect(intake.connections.count == 1 && intake.connections[0].hasSuffix("QoS 1 granted"))
        #expect(intake.losses.isEmpty && intake.gaps.isEmpty)
        try await broker.sawEnd()
        // Were one of them not acknowledged, the next link would bring it again.
        let next = TestIntake()
        try await running(settings, next) { _ in
            try broker.publish(["last"])
            try await eventually("the last came") { !next.texts.isEmpty }
        }
        #expect(next.texts == ["last"])
    }

    @Test("what comes behind a window that was full is marked as having waited")
    func waited() async throws {
        let broker = try Broker()
        let settings = broker.settings { $0.clientID = "agent-9" }
        let (first, intake) = (TestIntake(), TestIntake())
        try await running(settings, first) { _ in }
        try broker.publish((1...60).map { "{\"n\":\($0)}" })
        try await running(settings, intake) { _ in
            try await eventually("all came") { intake.payloads.count >= 60 }
        }
        // Of the first ones a busy machine may say the same; ReadLagTests has what is not late.
        #expect(intake.payloads.last?.hasWaited == true)
    }

    @Test("what the inbox cannot keep is not acknowledged: the broker brings it again, marked as such")
    func failedOnce() async throws {
        let broker = try Broker()
        let intake = TestIntake { call throws(IntakeRefusal) in
            if call == 1 { throw .failed(CocoaError(.fileWriteOutOfSpace)) }
        }
        try await running(broker.settings(), intake) { _ in
            try broker.publish(["a", "b", "c"])
            try await eventually("all came") { intake.texts.count >= 3 }
        }
        #expect(intake.texts == ["a", "b", "c"])
        #expect(intake.payloads[0].isRedelivered)
        #expect(intake.losses.count == 1 && intake.losses[0].contains("could not store"))
        #expect(intake.connections.count == 2 && intake.connections[1].contains("session kept"))
        #expect(intake.gaps.isEmpty)
    }
}

/// What lies in memory, and is acknowledged when it has ended.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct MemoryInboxTests {
    @Test("an MQTT transport keeps every promise of a transport", arguments: [MQTTSettings.Version.v311, .v5])
    func promises(version: MQTTSettings.Version) async {
        await TransportContract { try BrokerBench { $0.version = version } }.verify()
    }

    @Test(
        "a retained message that has not ended when its link ends, or is to be tried later, is accepted again, once",
        arguments: MQTTSettings.Version.allCases, [true, false])
    func retained(version: MQTTSettings.Version, isClean: Bool) async throws {
        for isCut in [true, false] {
            let broker = try Broker()
            let relay = try Relay(to: broker.port)
            try broker.publish(["kept"], isRetained: true)
            let intake = TestIntake(isDurable: false)
            let settings = relay.settings { ($0.version, $0.cleanSession) = (version, isClean) }
            try await running(settings, intake) { _ in
                try await eventually("it came") { intake.texts == ["kept"] }
                if isCut { relay.cut() } else { intake.end(0, .duplicate(.inFlight(.retryLater))) }
                try await eventually("it came again", within: 5) { intake.texts == ["kept", "kept"] }
                intake.end(1, .superseded)
                try await eventually("connected again") { intake.connections.count == 2 }
                try broker.publish(["next"])
                try await eventually("the next came") { intake.texts.last == "next" }
            }
            #expect(intake.texts == ["kept", "kept", "next"])
        }
    }
}

/// A broker and who publishes to it.
private final class BrokerBench: TransportBench {
    let broker: Broker
    let relay: Relay
    let transport: any PushTransport
    let endsWhenCut = false
    let acknowledgesTogether = true
    private let sent = Mutex(0)

    init(_ change: (inout MQTTSettings) -> Void) throws {
        broker = try Broker()
        relay = try Relay(to: broker.port)
        transport = try MQTTTransport(relay.settings(change))
    }

    func send(_ payloads: [[UInt8]]) async throws {
        // For a device that it has never seen, a broker keeps nothing.
        let isSubscribed = await comes { broker.log.contains("Sending SUBACK to device") }
        try #require(isSubscribed, "nobody subscribes")
        try broker.publish(payloads.map { String(decoding: $0, as: UTF8.self) })
        sent.withLock { $0 += payloads.count }
    }

    func answers() -> TransportAnswers {
        var answers = TransportAnswers()
        answers.acknowledged = broker.log.count(of: "Received PUBACK from device")
        return answers
    }

    func cut() async {
        // What is not acknowledged yet would come again, which is another promise.
        _ = await comes(within: .seconds(20)) { answers().acknowledged == sent.withLock(\.self) }
        relay.cut()
    }
}
#endif
