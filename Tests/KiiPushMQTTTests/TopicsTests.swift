#if MQTT
import KiiPush
import KiiPushDelivery
import KiiPushMQTT
import Testing

@testable import KiiPushTestSupport

/// Several topics on one link, and what a broker says beside a payload.
@Suite(.timeLimit(.minutes(2)))
struct TopicsTests {
    @Test("each topic's messages arrive in order, by wildcards and a quality of its own; quality 0 as asked is no gap")
    func filters() async throws {
        let broker = try Broker()
        let intake = TestIntake()
        let settings = broker.settings {
            $0.subscriptions = [.init("cmd/+/set"), .init("log/#", quality: .zero), .init("plain")]
        }
        try await running(settings, intake) { transport in
            #expect(intake.connections[0].hasSuffix("QoS 0 and 1 granted") && intake.gaps.isEmpty)
            #expect(transport.abilities.isEmpty)
            try broker.publish(["1", "2", "3"], to: "cmd/a/set")
            try broker.publish(["no"], to: "cmd/a/b/set")
            try broker.publish(["4", "5"], to: "log")
            try broker.publish(["6"], to: "log/x/y")
            try broker.publish(["7"], to: "plain")
            try await eventually("all came") { intake.texts.count == 7 }
        }
        #expect(intake.texts == ["1", "2", "3", "4", "5", "6", "7"])
        let topics = intake.payloads.compactMap(\.mqtt?.topic)
        #expect(topics == ["cmd/a/set", "cmd/a/set", "cmd/a/set", "log", "log", "log/x/y", "plain"])
        #expect(intake.ignored.isEmpty, "\(intake.ignored)")
    }

    @Test("a filter of the last run that is no longer wanted is unsubscribed, and brings nothing")
    func former() async throws {
        let broker = try Broker()
        try await running(broker.settings { $0.subscriptions = [.init("old"), .init("push")] }, TestIntake()) { _ in
            try await broker.sawSubscription("push")
        }
        try await broker.sawEnd()
        let intake = TestIntake()
        let settings = broker.settings {
            $0.hadSession = true
            $0.formerFilters = ["old"]
        }
        try await running(settings, intake) { transport in
            try broker.publish(["no"], to: "old")
            try broker.publish(["yes"])
            try await eventually("it came") { !intake.texts.isEmpty }
            #expect(transport.counts.otherTopic == 0)
        }
        #expect(intake.texts == ["yes"] && intake.gaps.isEmpty)
    }

    @Test("a topic that the broker refuses is named, and the others wait for it")
    func refused() async throws {
        let broker = try ScriptedBroker(subscription: [0x90, 4, 0, 1, 0, 1, 0x90, 4, 0, 2, 0, 0x87])
        let intake = TestIntake()
        let settings = broker.settings(.v5) { $0.subscriptions = [.init("open"), .init("secret")] }
        try await running(settings, intake, until: "it was told") { !intake.refusals.isEmpty }
        #expect(intake.refusals.first?.contains("for secret") == true, "\(intake.refusals)")
        #expect(intake.connections.isEmpty)
    }

    @Test("the properties of MQTT 5 come with the message")
    func properties() async throws {
        let broker = try Broker()
        let intake = TestIntake()
        try await running(broker.settings { $0.version = .v5 }, intake) { _ in
            func publish(_ text: String, _ properties: [[String]]) throws {
                try broker.publish([text], ["-V", "mqttv5"] + properties.flatMap { ["-D", "publish"] + $0 })
            }
            try publish(
                "all",
                [
                    ["content-type", "text/plain"], ["response-topic", "answers/me"], ["correlation-data", "c-1"],
                    ["message-expiry-interval", "600"], ["user-property", "a", "1"], ["user-property", "a", "2"],
                    ["user-property", "", "é"],
                ])
            try publish("none", [])
            let large = String(repeating: "x", count: 9000)
            try publish(
                "many", [["user-property", "a", large], ["user-property", "b", large], ["response-topic", "r"]])
            try await eventually("all came") { intake.texts.count == 3 }
        }
        var all = MQTTPublish(topic: "push")
        (all.contentType, all.responseTopic, all.correlationData) = ("text/plain", "answers/me", Array("c-1".utf8))
        all.userProperties = [("a", "1"), ("a", "2"), ("", "é")].map { .init(name: $0.0, value: $0.1) }
        var found = intake.payloads.map(\.mqtt)
        // What is left of it.
        #expect((590...600).contains(found[0]?.expirySeconds ?? 0))
        found[0]?.expirySeconds = nil
        var cut = MQTTPublish(topic: "push")
        cut.responseTopic = "r"
        #expect(found == [all, MQTTPublish(topic: "push"), cut])
        #expect(intake.ignored.count == 1 && intake.ignored[0].contains("properties"), "\(intake.ignored)")
    }

    @Test("birth is published with each link, and the will when one breaks or ends")
    func announcements() async throws {
        let broker = try Broker()
        let relay = try Relay(to: broker.port)
        let watcher = TestIntake()
        let watching = broker.settings {
            $0.clientID = "watcher"
            $0.subscriptions = [.init("status")]
        }
        let settings = relay.settings {
            $0.birth = .init(topic: "status", payload: "on".utf8)
            $0.will = .init(topic: "status", payload: "off".utf8)
        }
        try await running(watching, watcher) { _ in
            try await running(settings, TestIntake()) { _ in
                try await eventually("born") { watcher.texts == ["on"] }
                relay.cut()
                try await eventually("born again") { watcher.texts == ["on", "off", "on"] }
            }
            try await eventually("gone") { watcher.texts == ["on", "off", "on", "off"] }
        }
    }
}
#endif
