#if MQTT
import Foundation
import KiiPush
import KiiPushDelivery
import KiiPushMQTT
import Synchronization
import Testing

@testable import KiiPushTestSupport

/// Brokers that do not let a device in, or have it subscribe, until they do.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct RefusalTests {
    @Test(
        "a refused login is told once, asked for again, and granted when the broker changes its mind",
        arguments: MQTTSettings.Version.allCases)
    func login(version: MQTTSettings.Version) async throws {
        let broker = try Broker(user: "device", password: "another")
        let settings = broker.settings {
            $0.version = version
            ($0.user, $0.password) = ("device", .text("right word"))
            $0.maxRefusalBackoff = .milliseconds(100)
        }
        let intake = TestIntake()
        try await running(settings, intake, connects: false) { _ in
            try await eventually("refused often") { broker.log.split(separator: "not authorised").count > 5 }
            #expect(intake.refusals.count == 1 && intake.losses.isEmpty && intake.connections.isEmpty)
            #expect(intake.refusals.first?.hasPrefix("not authori") == true, "\(intake.refusals)")
            #expect(intake.refusals.first?.contains("check user, password") == true)
            #expect(intake.refusals.first?.contains("right word") == false)
            try Broker.setPassword("right word", of: "device", in: broker.folder)
            broker.signal(SIGHUP)
            try await eventually("let in") { !intake.connections.isEmpty }
        }
        #expect(intake.refusals.count == 1)
    }

    @Test(
        "a refused subscription is told once, asked for again, and granted when the broker changes its mind",
        arguments: [MQTTSettings.Version.v311, .v5])
    func subscription(version: MQTTSettings.Version) async throws {
        let plugin = try #require(Self.plugin)
        let lines = ["allow_anonymous true", "plugin \(plugin)", "plugin_opt_config_file FOLDER/rules.json"]
        let broker = try Broker(lines, before: { try $0.write(Self.rules(allow: false), to: "rules.json") })
        let settings = broker.settings {
            $0.version = version
            $0.maxRefusalBackoff = .milliseconds(100)
        }
        let intake = TestIntake()
        try await running(settings, intake, connects: false) { _ in
            try await eventually("refused often") { broker.log.split(separator: "Received SUBSCRIBE").count > 4 }
            #expect(intake.refusals.count == 1 && intake.connections.isEmpty)
            let told = version == .v5 ? "not authorized, to subscribe" : "code 128, to subscribe"
            #expect(intake.refusals.first?.hasPrefix(told) == true, "\(intake.refusals)")
            try broker.stop()
            try broker.folder.write(Self.rules(allow: true), to: "rules.json")
            try broker.start()
            try await eventually("granted") { !intake.connections.isEmpty }
        }
    }

    @Test("a broker that closes the first link instead of granting the subscription is told with what to check")
    func closedAtSubscription() async throws {
        let broker = try ScriptedBroker(answers: [[[0x20, 2, 0, 0]]], 50)
        let intake = TestIntake()
        try await running(broker.settings(.v311), intake, until: "told") { !intake.losses.isEmpty }
        #expect(intake.losses[0].hasSuffix("the broker closed the link; check the topic, and what this user may read"))
    }

    private static func rules(allow: Bool) -> String {
        """
        {"defaultACLAccess":{"publishClientSend":true,"publishClientReceive":true,"subscribe":\(allow),\
        "unsubscribe":true},"clients":[],"groups":[],"roles":[]}
        """
    }

    private static let plugin = ["x86_64", "aarch64"].map { "/usr/lib/\($0)-linux-gnu/mosquitto_dynamic_security.so" }
        .first { FileManager.default.fileExists(atPath: $0) }

    @Test("the pauses of refusals grow to their own bound")
    func pauses() async throws {
        // Refuses by turns for another reason, so that each is told.
        let broker = try ScriptedBroker(connections: [[0x20, 2, 0, 4], [0x20, 2, 0, 5]])
        let intake = TestIntake()
        let settings = broker.settings(.v311) {
            $0.backoff = .milliseconds(5)
            $0.maxRefusalBackoff = .milliseconds(40)
        }
        try await running(settings, intake, until: "refused often") { intake.refusals.count >= 6 }
        let pauses = intake.events.compactMap { if case .refused(_, let pause) = $0 { pause } else { nil } }
        #expect(pauses[0] <= .milliseconds(6))
        #expect(pauses.dropFirst(3).allSatisfy { $0 >= .milliseconds(32) && $0 <= .milliseconds(48) }, "\(pauses)")
    }

    @Test(
        "the keep-alive that a broker demands counts instead of the settings', also while a message has not ended",
        arguments: [true, false])
    func brokersKeepAlive(isHeld: Bool) async throws {
        let publish = [0x32, 10, 0, 4] + Array("push".utf8) + [0, 9, 0, 0x78]
        let answers: [[UInt8]] = [[0x20, 6, 0, 0, 3, 0x13, 0, 1], [0x90, 4, 0, 1, 0, 1] + (isHeld ? publish : [])]
        let broker = try ScriptedBroker(answers: [answers + Array(repeating: [0xD0, 0], count: 9)], 10_000)
        let intake = TestIntake(isDurable: false)
        try await running(broker.settings(.v5), intake) { _ in
            // With the keep-alive of 60 seconds the first ping would come after fifteen.
            try await eventually("two pings came", within: 10) { broker.packets >= 4 }
            #expect(intake.texts == (isHeld ? ["x"] : []))
        }
        #expect(intake.losses.isEmpty)
    }

    @Test(
        "a reason that MQTT 5's broker gives is told, of short links without a guess, and of its move with what to check",
        arguments: [
            ([2, 0x97, 0], "the broker ended the link: Quota exceeded"),
            ([2, 0x8E, 0], "Session taken over: another program has connected with this client id"),
            ([0], "the broker ended the link without a reason, or sent what is no MQTT 5"),
        ] as [([UInt8], String)])
    func reasons(end: [UInt8], why: String) async throws {
        let link: [[UInt8]] = [[0x20, 3, 0, 0, 0], [0x90, 4, 0, 1, 0, 1, 0xE0] + end]
        let broker = try ScriptedBroker(answers: [link, link, link, [[0x20, 3, 0, 0x9D, 0]]], 10_000)
        let intake = TestIntake()
        try await running(broker.settings(.v5), intake, until: "refused") { !intake.refusals.isEmpty }
        #expect(intake.losses.prefix(3) == [why, why, why])
        #expect(intake.refusals[0] == "server moved; check the address")
    }

    @Test("an answer to a subscription that nobody asked for is counted, told once and ignored")
    func foreignAnswer() async throws {
        let foreign: [UInt8] = [0x90, 3, 0, 99, 0x80]
        let granted: [UInt8] = [0x90, 3, 0, 1, 1]
        let push: [UInt8] = [0x30, 7, 0, 4] + Array("pushx".utf8)
        let broker = try ScriptedBroker(
            connection: [0x20, 2, 0, 0], subscription: foreign + granted, then: foreign + granted + push)
        let intake = TestIntake()
        try await running(broker.settings(.v311), intake) { transport in
            try await eventually("the push came") { intake.texts == ["x"] }
            try await eventually("counted") { transport.counts.foreignAnswers == 3 }
        }
        #expect(intake.refusals.isEmpty && intake.connections.count == 1)
        #expect(intake.ignored == ["an unexpected reply to a subscription"])
    }
}

/// What a service does when a broker has forgotten this device.
@Suite(.timeLimit(.minutes(2)))
struct GapTests {
    /// The first two that a service with two topics and a lost session handles: a cause of a gap, a message's number.
    private func firstHandled(_ broker: ScriptedBroker) async throws -> [String] {
        let log = Mutex<[String]>([])
        let receiver = PushReceiver()
        receiver.onGap(id: "resync") { gap, _ in log.withLock { $0.append(gap.cause.rawValue) } }
        receiver.onDirectPush { event, _ in log.withLock { $0.append(event.data["n"]?.string ?? "-") } }
        let settings = broker.settings(.v5) {
            ($0.subscriptions, $0.hadSession, $0.keepAlive) = ([.init("open"), .init("other")], true, 5)
        }
        let service = PushService(receiver, [try MQTTTransport(settings)])
        let run = Task { try await service.run() }
        try await eventually("both were handled") { log.withLock { $0.count } >= 2 }
        run.cancel()
        _ = try await run.value
        return log.withLock { Array($0.prefix(2)) }
    }

    @Test("a message between two answers to subscriptions waits for the handler of the lost session")
    func sessionLostWithTopics() async throws {
        let publish = [0x32, 18, 0, 4] + Array("open".utf8) + [0, 9, 0] + Array(#"{"n":"1"}"#.utf8)
        // Two packets of the device after the message, such as requests, acknowledgements and pings.
        let link: [[UInt8]] = [[0x20, 3, 0, 0, 0], [0x90, 4, 0, 1, 0, 1] + publish, [], [0x90, 4, 0, 2, 0, 1]]
        let broker = try ScriptedBroker(answers: [link], 10_000)
        #expect(try await firstHandled(broker) == ["sessionLost", "1"])
    }

    @Test("a message that nobody sends again waits for that handler too if the link breaks before the last answer")
    func sessionLostTwice() async throws {
        let publish = [0x30, 16, 0, 4] + Array("open".utf8) + [0] + Array(#"{"n":"1"}"#.utf8)
        let broken: [[UInt8]] = [[0x20, 3, 0, 0, 0], [0x90, 4, 0, 1, 0, 1] + publish]
        let kept: [[UInt8]] = [[0x20, 3, 1, 0, 0], [0x90, 4, 0, 1, 0, 1, 0x90, 4, 0, 2, 0, 1]]
        let broker = try ScriptedBroker(answers: [broken, kept], 200)
        #expect(try await firstHandled(broker) == ["sessionLost", "1"])
    }

    @Test("a session lost is reported once, also if the process ends before the subscription is granted")
    func sessionLostOverRestart() async throws {
        let suback: [UInt8] = [0x90, 4, 0, 1, 0, 1]
        let kept: [[UInt8]] = [[0x20, 3, 1, 0, 0], suback]
        let broker = try ScriptedBroker(answers: [[[0x20, 3, 0, 0, 0]], kept, kept], 10_000)
        let folder = try Folder()
        let settings = broker.settings(.v5) { ($0.hadSession, $0.retainedFile) = (true, "\(folder.path)/retained") }
        let first = TestIntake()
        try await running(settings, first, until: "subscribing") { broker.packets >= 2 }
        #expect(first.events.isEmpty)
        for gaps in [1, 0] {
            let next = TestIntake()
            try await running(settings, next) { _ in }
            #expect(next.gaps.count == gaps)
        }
    }
}
#endif
