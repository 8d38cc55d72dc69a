#if MQTT
import Foundation
import KiiPush
import KiiPushDelivery
import KiiPushMQTT
import Testing

@testable import KiiPushTestSupport

/// Links that are lost, and what is told of them.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct LinkTests {
    @Test("a broker that was stopped is connected to again, and its session goes on")
    func restart() async throws {
        let broker = try Broker()
        let intake = TestIntake()
        try await running(broker.settings(), intake) { _ in
            try broker.publish(["a"])
            try await eventually("a came") { intake.texts == ["a"] }
            try broker.stop()
            try await eventually("the loss was seen") { !intake.losses.isEmpty }
            try broker.start()
            try await eventually("connected again") { intake.connections.count == 2 }
            try broker.publish(["b"])
            try await eventually("b came") { intake.texts.last == "b" }
        }
        // The first acknowledgement may have come too late for what the broker saved.
        #expect(intake.texts.first == "a" && intake.connections[1].contains("session kept"))
        #expect(intake.gaps.isEmpty)
    }

    @Test("a session that the broker has forgotten is a possible gap", arguments: [MQTTSettings.Version.v311, .v5])
    func forgotten(version: MQTTSettings.Version) async throws {
        let broker = try Broker()
        let intake = TestIntake()
        try await running(broker.settings { $0.version = version }, intake) { _ in
            try broker.stop()
            try broker.forget()
            try broker.start()
            try await eventually("connected again") { intake.connections.count == 2 }
            try broker.publish(["b"])
            try await eventually("b came") { intake.texts == ["b"] }
        }
        #expect(intake.connections.allSatisfy { $0.contains("new session") })
        #expect(intake.gaps.count == 1 && intake.gaps[0].contains("forgotten"))
    }

    @Test("a link that is cut is made again, and nothing is lost", arguments: MQTTSettings.Version.allCases)
    func cut(version: MQTTSettings.Version) async throws {
        let broker = try Broker()
        let relay = try Relay(to: broker.port)
        let intake = TestIntake()
        let settings = relay.settings { $0.version = version }
        let texts = (1...24).map { "m\($0)" }
        try await running(settings, intake) { _ in
            for (round, text) in texts.enumerated() {
                if round % 6 == 0 {
                    try await eventually("connected") { intake.connections.count == round / 6 + 1 }
                }
                try broker.publish([text])
                if round % 6 == 5 { relay.cut() }
            }
            try await eventually("all came") { Set(intake.texts).count == texts.count }
        }
        #expect(intake.losses.count >= 3)
        // MQTT 3.1 cannot say that the session was kept.
        #expect(version == .v31 ? !intake.gaps.isEmpty : intake.gaps.isEmpty)
    }

    @Test("a broker that hangs is noticed by its missing answer, and connected to again")
    func frozen() async throws {
        let broker = try Broker()
        let intake = TestIntake()
        try await running(broker.settings { $0.keepAlive = 5 }, intake) { _ in
            broker.signal(SIGSTOP)
            try await eventually("the loss was seen") { !intake.losses.isEmpty }
            broker.signal(SIGCONT)
            try broker.publish(["a"])
            try await eventually("a came") { intake.texts == ["a"] }
        }
        #expect(intake.losses[0].contains("keep-alive"))
    }

    @Test("a clean session loses what is sent while the link is down, and says so")
    func clean() async throws {
        let broker = try Broker()
        let relay = try Relay(to: broker.port)
        let intake = TestIntake()
        let settings = relay.settings { ($0.cleanSession, $0.clientID) = (true, "") }
        try await running(settings, intake) { transport in
            #expect(transport.abilities == .acknowledges)
            relay.cut()
            try await eventually("connected again") { intake.connections.count == 2 }
            try await eventually("told") { !intake.gaps.isEmpty }
        }
        #expect(intake.connections[0].contains("clean session"))
        #expect(intake.gaps.count == 1 && intake.gaps[0].contains("clean session"))
    }

    @Test("what an inbox could not keep and nobody sends again is kept in memory and tried again")
    func keptForLater() async throws {
        let broker = try Broker()
        let intake = TestIntake { call throws(IntakeRefusal) in
            if call == 1 { throw .failed(CocoaError(.fileWriteOutOfSpace)) }
        }
        try await running(broker.settings { $0.subscriptions[0].quality = .zero }, intake) { transport in
            #expect(transport.abilities == [])
            try broker.publish(["a"])
            try await eventually("it was taken") { intake.texts == ["a"] }
        }
        #expect(intake.losses.isEmpty && intake.submissions == 2)
    }

    @Test("two programs with one client id cut each other's link ever more slowly")
    func takeOver() async throws {
        let broker = try Broker()
        let (one, other) = (TestIntake(), TestIntake())
        // Long enough that a slow reconnect is no link that held.
        let settings = broker.settings { ($0.backoff, $0.maxBackoff) = (.milliseconds(200), .seconds(1)) }
        try await running(settings, one) { _ in
            try await running(settings, other) { _ in
                try await eventually("both lost their link often", within: 45) {
                    min(one.losses.count, other.losses.count) >= 6
                }
            }
        }
        for intake in [one, other] {
            #expect(intake.losses[0].hasPrefix("the broker ") && !intake.losses[0].contains("another program"))
            let count = "; that makes 3 short links in a row: "
            let hint = count + "another program seems to connect with the client id 'device'; give each its own"
            #expect(intake.losses.contains { $0.hasSuffix(hint) }, "\(intake.losses)")
        }
        for pauses in [one.pauses, other.pauses] {
            #expect(pauses[0] <= .milliseconds(240))
            #expect(pauses.dropFirst(4).allSatisfy { $0 >= .milliseconds(800) && $0 <= .milliseconds(1200) })
        }
    }
}
#endif
