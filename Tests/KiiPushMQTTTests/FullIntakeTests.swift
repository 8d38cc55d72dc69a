#if MQTT
import Foundation
import KiiPush
import KiiPushDelivery
import KiiPushMQTT
import Testing

@testable import KiiPushTestSupport

/// A service that is full for long: its link, and what waits behind it.
@Suite(.timeLimit(.minutes(5)))
struct FullIntakeTests {
    enum Case: String, CaseIterable {
        case plain, encrypted, unacknowledged
    }

    @Test(
        "while there is no room, for longer than the keep-alive, the link stays up; then all comes",
        arguments: Case.allCases)
    func keptAlive(kind: Case) async throws {
        let broker = kind == .encrypted ? try TLSTests.broker(.right) : try Broker()
        let change: (inout MQTTSettings) -> Void = { $0.keepAlive = 5 }
        let settings = kind == .encrypted ? TLSTests.settings(broker, change) : broker.settings(change)
        let more = kind == .encrypted ? ["--cafile", "\(broker.folder.path)/ca.crt"] : []
        let intake = Self.closedIntake()
        let texts = (1...60).map(String.init)
        try await running(settings, intake) { _ in
            try broker.publish(texts, quality: kind == .unacknowledged ? 0 : 1, more)
            try await eventually("it is full") { intake.isAwaited }
            // One each two and a half seconds: the broker would have gone after seven and a half without any.
            try await eventually("the broker heard of the device for twelve seconds", within: 40) {
                !intake.losses.isEmpty || broker.log.count(of: "Received PINGREQ from device") >= 5
            }
            #expect(intake.texts.isEmpty && broker.log.count(of: "Received PUBACK from device") == 0)
            intake.setRoom(.max)
            try await eventually("all came") { intake.texts.count >= texts.count }
        }
        #expect(intake.texts == texts)
        #expect(intake.losses.isEmpty && intake.connections.count == 1)
    }

    @Test("a link that is lost while there is no room is made again when there is, and no sooner")
    func lostWhileFull() async throws {
        let broker = try Broker()
        let relay = try Relay(to: broker.port)
        let intake = Self.closedIntake()
        let texts = (1...60).map(String.init)
        let settings = relay.settings { $0.connectLimit = .seconds(2) }
        try await running(settings, intake) { _ in
            try broker.publish(texts)
            try await eventually("it is full") { intake.isAwaited }
            relay.cut()
            try await eventually("the loss was seen") { !intake.losses.isEmpty }
            // It would be made again after 24 ms, and given up after two seconds.
            let end = ContinuousClock.now + .seconds(3)
            while .now < end, relay.links == 1 { try await Task.sleep(for: .milliseconds(5)) }
            #expect(relay.links == 1)
            intake.setRoom(.max)
            try await eventually("all came") { Set(intake.texts).count == texts.count }
        }
        #expect(intake.losses.count == 1 && relay.links == 2)
    }

    @Test("a pause that began without room ends as soon as there is room, even while the loss is being reported")
    func pauseEnds() async throws {
        let broker = try Broker()
        let relay = try Relay(to: broker.port)
        let intake = Self.closedIntake()
        intake.onEvent { [weak intake] in if case .disconnected = $0 { intake?.setRoom(.max) } }
        let settings = relay.settings { ($0.backoff, $0.maxBackoff) = (.seconds(60), .seconds(60)) }
        try await running(settings, intake) { _ in
            try broker.publish(["a"])
            try await eventually("it is full") { intake.isAwaited }
            relay.cut()
            // A broker sends what waits before it answers the subscription: the text comes before the link is told.
            try await eventually("it came, over a second link") {
                intake.texts == ["a"] && intake.connections.count == 2
            }
        }
    }

    @Test("a broker whose answer lies behind messages that nobody reads has not refused the subscription")
    func fullBeforeTheSubscription() async throws {
        // Of quality 1 on the topic "push", each with one byte; more than are read at once.
        let messages = (1...100).flatMap { [0x32, 9, 0, 4, 0x70, 0x75, 0x73, 0x68, 0, $0, 0x61] as [UInt8] }
        let broker = try ScriptedBroker(
            connection: [0x20, 2, 0, 0] + messages, subscription: [0x90, 3, 0, 1, 1], patience: 60_000)
        let intake = Self.closedIntake()
        let settings = broker.settings(.v311) { $0.connectLimit = .seconds(2) }
        try await running(settings, intake, connects: false) { _ in
            try await eventually("it is full") { intake.isAwaited }
            let end = ContinuousClock.now + .seconds(3)
            while .now < end, intake.losses.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
            #expect(intake.connections.isEmpty)
            intake.setRoom(.max)
            try await eventually("all came") { intake.texts.count == 100 && !intake.connections.isEmpty }
        }
        #expect(intake.losses.isEmpty)
    }

    /// An intake without room.
    private static func closedIntake() -> TestIntake {
        let intake = TestIntake()
        intake.setRoom(0)
        return intake
    }
}

extension String {
    /// How many of its lines have a text.
    func count(of text: String) -> Int { split(separator: "\n").count { $0.contains(text) } }
}
#endif
