#if MQTT
import Foundation
import KiiPush
import KiiPushMQTT
import Testing

@testable import KiiPushTestSupport

/// What a broker grants, refuses and sends beside pushes.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct BrokerAnswerTests {
    @Test(
        "quality of service 0 is reported as a possible gap, and what this device says has it, too",
        arguments: MQTTSettings.Version.allCases)
    func qualityZero(version: MQTTSettings.Version) async throws {
        let broker = try Broker(["allow_anonymous true", "max_qos 0"])
        let intake = TestIntake()
        let settings = broker.settings {
            $0.version = version
            $0.birth = .init(topic: "push", payload: "born".utf8, isRetained: false)
            $0.will = .init(topic: "will", payload: "gone".utf8)
        }
        try await running(settings, intake) { transport in
            try await eventually("the birth came") { intake.texts == ["born"] }
            guard version == .v5 else { return }
            try await transport.send(AnswerTests.answer(1, to: "push"))
            try await eventually("the answer came") { intake.texts.count == 2 }
        }
        #expect(intake.connections.count == 1 && intake.connections[0].hasSuffix("QoS 0 granted"))
        #expect(intake.gaps.count == 1 && intake.gaps[0].contains("QoS 0"))
        // The first link had a will with quality of service 1.
        #expect(intake.losses.count == 1 && intake.ignored.isEmpty)
    }

    @Test("a birth message that the broker refuses is told once, and a will that it cannot keep with what to check")
    func refusedBirth() async throws {
        let broker = try Broker(["allow_anonymous true", "acl_file FOLDER/acl", "retain_available false"]) { folder in
            try folder.write("topic read push\n", to: "acl")
        }
        let relay = try Relay(to: broker.port)
        let intake = TestIntake()
        let settings = relay.settings {
            ($0.version, $0.birth) = (.v5, .init(topic: "born", payload: [], isRetained: false))
        }
        try await running(settings, intake) { _ in
            try await eventually("told") { !intake.ignored.isEmpty }
            relay.cut()
            try await eventually("connected again") { intake.connections.count == 2 }
        }
        #expect(intake.ignored == ["the birth message cannot be published: Not authorized"])
        let next = TestIntake()
        let wills = relay.settings { ($0.version, $0.will) = (.v5, .init(topic: "will", payload: [])) }
        try await running(wills, next, until: "refused") { !next.refusals.isEmpty }
        #expect(next.refusals == ["retain not supported; check the will"])
    }

    @Test(
        "a retained message comes once, not again with each link, also if it was published while the first one stood",
        arguments: MQTTSettings.Version.allCases, [true, false])
    func retained(version: MQTTSettings.Version, isLive: Bool) async throws {
        let broker = try Broker()
        let relay = try Relay(to: broker.port)
        if !isLive { try broker.publish(["kept"], isRetained: true) }
        let intake = TestIntake()
        let settings = relay.settings { $0.version = version }
        try await running(settings, intake) { _ in
            if isLive { try broker.publish(["kept"], isRetained: true) }
            try await eventually("it came") { intake.texts == ["kept"] }
            // Unacknowledged, the broker would send it again as what it was: live, and not retained.
            try await eventually("it is acknowledged") { broker.log.contains("Received PUBACK from device") }
            for round in 2...4 {
                relay.cut()
                try await eventually("connected again") { intake.connections.count == round }
            }
            try broker.publish(["next"])
            try await eventually("the next came") { intake.texts.last == "next" }
        }
        #expect(intake.texts == ["kept", "next"])
    }

    @Test(
        "each topic's retained message is accepted once per change, also by a new process; clearing it is no payload",
        arguments: MQTTSettings.Version.allCases, [true, false])
    func retainedOverRestart(version: MQTTSettings.Version, isClean: Bool) async throws {
        let broker = try Broker()
        let folder = try Folder()
        for topic in ["s/a", "s/b", "s/c"] { try broker.publish(["of \(topic)"], to: topic, isRetained: true) }
        func start(sending text: String, expecting texts: [String] = []) async throws {
            let intake = TestIntake()
            let settings = broker.settings {
                ($0.version, $0.cleanSession, $0.subscriptions) = (version, isClean, [.init("s/+")])
                $0.retainedFile = "\(folder.path)/retained"
            }
            try await running(settings, intake) { _ in
                try broker.publish([text], to: "s/end")
                try await eventually("the last came") { intake.texts.last == text }
            }
            #expect(intake.texts.sorted() == [text] + texts && intake.texts.last == text, "\(intake.texts)")
            #expect(intake.payloads.allSatisfy { $0.mqtt?.isRetained != true || $0.mqtt?.topic != "s/end" })
            #expect(intake.ignored.isEmpty, "\(intake.ignored)")
            try await broker.sawEnd()
        }
        try await start(sending: "1", expecting: ["of s/a", "of s/b", "of s/c"])
        try await start(sending: "2")
        // A persistent session queues them too.
        try broker.publish(["new"], to: "s/b", isRetained: true)
        // Equal to another topic's message, which says nothing about this one.
        try broker.publish(["of s/a"], to: "s/c", isRetained: true)
        try await start(sending: "3", expecting: ["new", "of s/a"])
        try await start(sending: "4")
        try broker.publish([""], to: "s/b", isRetained: true)
        try await start(sending: "5")
    }

    @Test(
        "a retained message comes again when it is published anew behind another message, a cleared or a too large one",
        arguments: ["off", "", String(repeating: "x", count: 101)])
    func retainedAnew(between: String) async throws {
        let broker = try Broker()
        let relay = try Relay(to: broker.port)
        try broker.publish(["on"], isRetained: true)
        let intake = TestIntake()
        let settings = relay.settings {
            ($0.cleanSession, $0.payloadLimit) = (true, 100)
            $0.subscriptions = [.init("push/#")]
            // Longer than it takes to publish a message.
            ($0.backoff, $0.maxBackoff) = (.seconds(1), .seconds(1))
        }
        try await running(settings, intake) { _ in
            try await eventually("it came") { intake.texts == ["on"] }
            try broker.publish([between], isRetained: true)
            try broker.publish(["end"], to: "push/end")
            let texts = between == "off" ? ["on", "off", "end"] : ["on", "end"]
            try await eventually("all came") { intake.texts == texts }
            relay.cut()
            try broker.publish(["on"], isRetained: true)
            try await eventually("it came again") { intake.texts == texts + ["on"] }
            relay.cut()
            try await eventually("connected again") { intake.connections.count == 3 }
            try broker.publish(["last"])
            try await eventually("the last came") { intake.texts.last == "last" }
            #expect(intake.texts == texts + ["on", "last"])
        }
    }

    @Test("a session of MQTT 5 that the broker has forgotten does not bring a retained message again")
    func retainedBehindLostSession() async throws {
        let broker = try Broker()
        let folder = try Folder()
        try broker.publish(["kept"], isRetained: true)
        for (text, texts) in [("a", ["kept", "a"]), ("b", ["b"])] {
            let intake = TestIntake()
            let settings = broker.settings {
                ($0.version, $0.subscriptions) = (.v5, [.init("push"), .init("end")])
                $0.retainedFile = "\(folder.path)/retained"
            }
            try await running(settings, intake) { _ in
                // Of the same topic, it might have replaced the retained message.
                try broker.publish([text], to: "end")
                try await eventually("the last came") { intake.texts.last == text }
            }
            #expect(intake.texts == texts && intake.connections[0].contains("new session"))
            try await broker.sawEnd()
            // A clean session with its client id ends the device's.
            try run(
                [
                    "mosquitto_sub", "-V", "mqttv5", "-h", "127.0.0.1", "-p", "\(broker.port)", "-i", "device", "-t",
                    "other", "-E",
                ], output: "\(broker.folder.path)/sub")
        }
    }

    @Test("a retained request is accepted once for each correlation data, also by a new process")
    func retainedRequests() async throws {
        let broker = try Broker()
        let relay = try Relay(to: broker.port)
        let folder = try Folder()
        let settings = relay.settings {
            ($0.version, $0.cleanSession) = (.v5, true)
            // Longer than it takes to publish a request.
            $0.backoff = .seconds(1)
            $0.retainedFile = "\(folder.path)/retained"
        }
        func request(_ correlation: String) throws {
            let properties = [("response-topic", "r"), ("correlation-data", correlation)]
            try broker.publish(
                [#"{"power":true}"#], isRetained: true,
                ["-V", "mqttv5"] + properties.flatMap { ["-D", "publish", $0.0, $0.1] })
        }
        func correlations(_ intake: TestIntake) -> [String] {
            intake.payloads.map { String(decoding: $0.mqtt?.correlationData ?? [], as: UTF8.self) }
        }
        func start(expecting requests: [String], _ body: (TestIntake) async throws -> Void) async throws {
            let intake = TestIntake()
            try await running(settings, intake) { _ in
                try await body(intake)
                try request("last")
                try await eventually("the last came") { correlations(intake).last == "last" }
            }
            #expect(correlations(intake) == requests)
        }
        try await start(expecting: ["live", "late", "last"]) { intake in
            try request("live")
            try await eventually("the live one came") { intake.payloads.count == 1 }
            relay.cut()
            try request("late")
            try await eventually("the late one came") { intake.payloads.count == 2 }
            relay.cut()
            try await eventually("connected again") { intake.connections.count == 3 }
        }
        try request("next")
        try await start(expecting: ["next", "last"]) { _ in }
    }

    @Test("a retained message that only memory has is accepted again by a new process")
    func retainedInMemory() async throws {
        let broker = try Broker()
        let folder = try Folder()
        try broker.publish(["kept"], isRetained: true)
        for _ in 0..<2 {
            let intake = TestIntake(isDurable: false)
            let settings = broker.settings { $0.retainedFile = "\(folder.path)/retained" }
            try await running(settings, intake) { _ in
                try await eventually("it came") { intake.texts == ["kept"] }
                intake.end(0, nil)
            }
        }
    }

    @Test("a payload beyond the limit is counted, reported and acknowledged, each one, and never handed over")
    func tooLarge() async throws {
        let broker = try Broker()
        let intake = TestIntake()
        let settings = broker.settings { $0.payloadLimit = 100 }
        let large = String(repeating: "x", count: 101)
        try await running(settings, intake) { transport in
            try broker.publish([large, String(large.dropLast()), large])
            try await eventually("the one that fits came") { intake.texts.count == 1 }
            try await eventually("both were counted") { transport.counts.tooLarge == 2 }
        }
        #expect(intake.texts == [String(large.dropLast())])
        #expect(intake.gaps == Array(repeating: "a message of 101 bytes is larger than 100", count: 2))
        try await broker.sawEnd()
        let next = TestIntake()
        try await running(settings, next) { _ in
            try broker.publish(["last"])
            try await eventually("the last came") { !next.texts.isEmpty }
        }
        #expect(next.texts == ["last"] && next.gaps.isEmpty)
    }

    @Test("MQTT 5's broker is told not to send what is far too large")
    func maximumPacketSize() async throws {
        let broker = try Broker()
        let intake = TestIntake()
        let settings = broker.settings {
            $0.version = .v5
            $0.payloadLimit = 100
        }
        try await running(settings, intake) { transport in
            try broker.publish([String(repeating: "x", count: 200_000), "a"])
            try await eventually("the other came") { intake.texts == ["a"] }
            #expect(transport.counts.tooLarge == 0)
        }
    }

    @Test("a message of another topic is told once, counted and acknowledged, and is no push")
    func otherTopic() async throws {
        let broker = try Broker()
        let log = "\(broker.folder.path)/sub"
        // The session has another subscription, as that of an earlier configuration.
        try run(
            [
                "mosquitto_sub", "-p", "\(broker.port)", "-h", "127.0.0.1", "-i", "device", "-c", "-q", "1", "-t",
                "old", "-E",
            ], output: log)
        let intake = TestIntake()
        try await running(broker.settings(), intake) { transport in
            try broker.publish(["1", "2"], to: "old")
            try broker.publish(["a"])
            try await eventually("the push came") { intake.texts == ["a"] }
            #expect(transport.counts.otherTopic == 2)
        }
        #expect(intake.ignored.count == 1 && intake.ignored[0].contains("topic"))
    }

    @Test("Kii's endpoint as it stands is enough to connect")
    func endpoint() async throws {
        let broker = try Broker(user: "USERNAME", password: "PASSWORD")
        let text = """
            {"installationID":"INSTALLATION_ID","username":"USERNAME","password":"PASSWORD",
             "mqttTopic":"sFJGc3o0fmvSK8d3KRSMYZM","host":"127.0.0.1","portTCP":\(broker.port),"portWS":12470,
             "X-MQTT-TTL":2147483647}
            """
        let settings = try MQTTSettings(endpointFile: try broker.folder.write(text, to: "endpoint.json"))
        let intake = TestIntake()
        try await running(settings, intake) { _ in
            try broker.publish(["a"], to: "sFJGc3o0fmvSK8d3KRSMYZM", ["-u", "USERNAME", "-P", "PASSWORD"])
            try await eventually("it came") { intake.texts == ["a"] }
        }
        #expect(intake.connections == ["MQTT 3.1 not encrypted, lasting session, QoS 1 granted"])
        #expect(broker.log.contains("sFJGc3o0fmvSK8d3KRSMYZM (p1, c0"))
    }
}
#endif
