#if MQTT
import Foundation
import KiiPush
import KiiPushDelivery
import KiiPushContracts
import KiiPushMQTT
import Synchronization
import Testing

/// What lies in memory, and is acknowledged when it has ended.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct MemoryInboxTests {
    @Test("an MQTT transport keeps every promise of a transport", arguments: [MQTTSettings.Version.v311, .v5])
    func promises(version: MQTTSettings.Version) async {
        await TransportContract { try BrokerBench { $0.version = version } }.verify()
    }

    @Test("while messages in memory have not ended, for longer than the keep-alive, the link stays up")
    func longRun() async throws {
        let broker = try Broker()
        let intake = TestIntake(isDurable: false)
        try await running(broker.settings { $0.keepAlive = 5 }, intake) { _ in
            try broker.publish(["a"])
            try await eventually("it came") { intake.texts == ["a"] }
            try broker.publish(["b"])
            try await eventually("the next came too") { intake.texts == ["a", "b"] }
            try await eventually("the broker heard of the device for twelve seconds", within: 40) {
                !intake.losses.isEmpty || broker.log.count(of: "Received PINGREQ from device") >= 5
            }
            #expect(broker.log.count(of: "Received PUBACK from device") == 0)
            intake.end(1, .superseded)
            intake.end(0, .superseded)
            try await eventually("both are acknowledged") { broker.log.count(of: "Received PUBACK from device") == 2 }
        }
        #expect(intake.losses.isEmpty && intake.gaps.isEmpty)
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
            let settings = broker.settings { ($0.version, $0.cleanSession, $0.port) = (version, isClean, relay.port) }
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

    @Test("what a service with an inbox in memory has not handled when it stops comes again")
    func drained() async throws {
        let broker = try Broker()
        var delivery = ServiceSettings.standard
        delivery.drain = .milliseconds(10)
        delivery.grace = .milliseconds(10)
        let stuck = PushReceiver()
        stuck.onDirectPush("stuck") { _, _ in try await Task.sleep(for: .seconds(100)) }
        let first = PushService(stuck, [try MQTTTransport(broker.settings())], settings: delivery)
        let run = Task { try await first.run() }
        try await eventually("subscribed") { broker.log.contains("Sending SUBACK to device") }
        try broker.publish([#"{"n":1}"#, #"{"n":2}"#])
        try await eventually("both were taken") { first.status.messages == 2 }
        run.cancel()
        #expect(try await run.value.left == 2)
        let next = TestIntake()
        try await running(broker.settings(), next) { _ in
            try await eventually("both came again") { next.texts == [#"{"n":1}"#, #"{"n":2}"#] }
        }
    }
}

/// A broker and who publishes to it.
private struct BrokerBench: TransportBench {
    let broker: Broker
    let relay: Relay
    let transport: any PushTransport
    let endsWhenCut = false
    let acknowledgesTogether = true
    private let sent = Sent()

    init(_ change: (inout MQTTSettings) -> Void) throws {
        broker = try Broker()
        relay = try Relay(to: broker.port)
        var settings = broker.settings(change)
        settings.port = relay.port
        transport = try MQTTTransport(settings)
    }

    func send(_ payloads: [[UInt8]]) async throws {
        // For a device that it has never seen, a broker keeps nothing.
        let isSubscribed = await comes { broker.log.contains("Sending SUBACK to device") }
        try #require(isSubscribed, "nobody subscribes")
        try broker.publish(payloads.map { String(decoding: $0, as: UTF8.self) })
        sent.count.withLock { $0 += payloads.count }
    }

    func answers() -> TransportAnswers {
        var answers = TransportAnswers()
        answers.acknowledged = broker.log.count(of: "Received PUBACK from device")
        return answers
    }

    func cut() async {
        // What is not acknowledged yet would come again, which is another promise.
        _ = await comes(within: .seconds(20)) { answers().acknowledged == sent.count.withLock(\.self) }
        relay.cut()
    }

    private final class Sent: Sendable {
        let count = Mutex(0)
    }
}
#endif
