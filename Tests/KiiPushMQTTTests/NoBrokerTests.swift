#if MQTT
import Foundation
import KiiPush
import KiiPushDelivery
import Synchronization
import Testing

@testable import KiiPushMQTT
@testable import KiiPushTestSupport

/// Hosts that answer wrongly or not at all.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct NoBrokerTests {
    @Test(
        "a port that nobody listens at, or that resets each link, is tried again with growing pauses, and says why",
        arguments: MQTTSettings.Version.allCases, [(false, false), (false, true), (true, false), (true, true)])
    func refused(version: MQTTSettings.Version, _ way: (resets: Bool, usesTLS: Bool)) async throws {
        var listener: Listener?
        if way.resets {
            listener = try Listener { link in
                var abort = linger(l_onoff: 1, l_linger: 0)
                unsafe setsockopt(link, SOL_SOCKET, SO_LINGER, &abort, socklen_t(MemoryLayout<linger>.size))
                close(link)
            }
        }
        defer { withExtendedLifetime(listener) {} }
        let settings = localSettings(port: try listener?.port ?? Loopback.freePort(), usesTLS: way.usesTLS) {
            ($0.version, $0.backoff, $0.maxBackoff) = (version, .milliseconds(5), .milliseconds(40))
        }
        let intake = TestIntake()
        try await running(settings, intake, until: "tried often") { intake.losses.count >= 6 }
        // A library that writes first learns no more of a reset than that the link is gone.
        let reasons = way.resets ? ["reset by peer", "Broken pipe"] : ["refused"]
        #expect(intake.losses.allSatisfy { loss in reasons.contains { loss.contains($0) } }, "\(intake.losses)")
        #expect(intake.losses.contains { $0.contains(reasons[0]) }, "\(intake.losses)")
        #expect(intake.losses.allSatisfy { $0.hasPrefix("127.0.0.1:\(settings.port): ") }, "\(intake.losses)")
        let advice = "check that this port is for links \(way.usesTLS ? "with" : "without") TLS"
        #expect(way.resets == intake.losses.contains { $0.hasSuffix(advice) }, "\(intake.losses)")
        #expect(intake.pauses[0] <= .milliseconds(6) && intake.pauses[5] >= .milliseconds(32))
    }

    @Test(
        "the certificates are loaded once, also if every handshake fails before the first call returns",
        arguments: MQTTSettings.Version.allCases)
    func failedHandshakes(version: MQTTSettings.Version) throws {
        let listener = try Listener { link in
            // No TLS, and sent before the hello has come.
            _ = unsafe send(link, "HTTP/1.1 400\r\n\r\n", 16, Int32(MSG_NOSIGNAL))
            shutdown(link, Int32(SHUT_WR))
            usleep(50_000)
            close(link)
        }
        defer { withExtendedLifetime(listener) {} }
        let settings = localSettings(port: listener.port, usesTLS: true) { $0.version = version }
        // Which of both sides is faster is chance; each way, the client has the encryption for the next one.
        for _ in 1...5 {
            let arrivals = MosquittoInbox(settings, clientID: "device", retained: RetainedMarks())
            let client = try MosquittoClient(settings, clientID: "device", arrivals)
            try? client.connect(settings, (nil, nil), nil)
            #expect(client.encryption != nil)
        }
    }

    @Test("a link whose connection takes a while is encrypted once it exists")
    func slowConnection() async throws {
        let full = try FullPort()
        defer { full.close() }
        let settings = localSettings(port: full.number, usesTLS: true)
        try await running(settings, TestIntake(), connects: false) { _ in
            try await Task.sleep(for: .milliseconds(200))
            let ports = Set(full.fillers.compactMap { Loopback.port($0) })
            var poll = pollfd(fd: full.listener, events: Int16(POLLIN), revents: 0)
            try await eventually("a hello came") {
                guard unsafe Glibc.poll(&poll, 1, 0) > 0 else { return false }
                let link = accept(full.listener, nil, nil)
                defer { close(link) }
                guard let port = Loopback.peerPort(link), !ports.contains(port) else { return false }
                var (first, wait) = (UInt8(0), pollfd(fd: link, events: Int16(POLLIN), revents: 0))
                // The first byte of a handshake.
                return unsafe Glibc.poll(&wait, 1, 2000) > 0 && recv(link, &first, 1, 0) == 1 && first == 0x16
            }
        }
    }

    @Test("a host that does not exist is tried again")
    func unknownHost() async throws {
        let settings = localSettings(port: 1883) { $0.host = "broker.invalid" }
        let intake = TestIntake()
        try await running(settings, intake, until: "told") { !intake.losses.isEmpty }
        #expect(intake.losses[0].contains("the host was not found"))
    }

    @Test("a host that accepts the connection and stays silent is given up after a while", arguments: [false, true])
    func silent(usesTLS: Bool) async throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        let settings = localSettings(port: try Loopback.bind(listener), usesTLS: usesTLS) {
            ($0.connectLimit, $0.backoff) = (.milliseconds(100), .milliseconds(5))
        }
        try #require(listen(listener, 8) == 0)
        let intake = TestIntake()
        try await running(settings, intake, until: "told twice") { intake.losses.count >= 2 }
        #expect(intake.losses[0].contains("the broker did not answer within"))
    }

    @Test("a broker that is busy, or refuses for the moment, is tried again")
    func busy() async throws {
        let cases: [(MQTTSettings.Version, connection: [UInt8], subscription: [UInt8], String)] = [
            (.v311, [0x20, 2, 0, 3], [], "unavailable"), (.v5, [0x20, 3, 0, 0x89, 0], [], "busy"),
            (.v5, [0x20, 3, 0, 0, 0], [0x90, 4, 0, 1, 0, 0x97], "quota"),
        ]
        for (version, connection, subscription, reason) in cases {
            let broker = try ScriptedBroker(connection: connection, subscription: subscription)
            let intake = TestIntake()
            try await running(broker.settings(version), intake, until: "refused twice") { intake.losses.count >= 2 }
            #expect(intake.connections.isEmpty)
            #expect(intake.losses[0].lowercased().contains(reason), "\(intake.losses[0])")
        }
    }

    @Test("bytes that are not MQTT end the link, not the transport")
    func noMQTT() async throws {
        for bytes in [Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), [0, 0], [0x20, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]] {
            let broker = try ScriptedBroker(connection: bytes)
            let intake = TestIntake()
            try await running(broker.settings(.v311) { $0.connectLimit = .seconds(1) }, intake, connects: false) { _ in
                try await eventually("lost twice") { intake.losses.count >= 2 }
            }
        }
    }

    @Test("a link that breaks behind an unacknowledged message does not end the transport on a later link")
    func brokenBehindMessage() async throws {
        let message: [UInt8] = [0x32, 10, 0, 4] + "push".utf8 + [0, 1, 0, UInt8(ascii: "x")]
        // The second link has half of an answer, so that nothing is to be written behind the first read.
        let broker = try ScriptedBroker(
            answers: [
                [[0x20, 3, 0, 0, 0], [0x90, 4, 0, 1, 0, 1] + message + [0xE0, 2, 0x8E, 0]], [[0x20]],
            ], 100)
        let intake = TestIntake()
        try await running(broker.settings(.v5), intake, connects: false) { _ in
            try await eventually("lost three times") { intake.losses.count >= 3 }
        }
    }

    @Test(
        "a transport that waits for a host which does not answer ends at once when it is cancelled",
        arguments: MQTTSettings.Version.allCases)
    func blackHole(version: MQTTSettings.Version) async throws {
        let full = try FullPort()
        defer { full.close() }
        let transport = try MQTTTransport(localSettings(port: full.number) { $0.version = version })
        let intake = TestIntake()
        let task = Task { try await transport.run(PushIntake(service: intake, transport: "mqtt")) }
        try await Task.sleep(for: .milliseconds(200))
        let start = ContinuousClock.now
        task.cancel()
        try await task.value
        #expect(start.duration(to: .now) < .seconds(10))
        #expect(intake.events.isEmpty)
    }

    @Test(
        "retained messages that are no text differ by their bytes",
        arguments: [[0x80], [0x81], [0x80, 0x80]] as [[UInt8]])
    func binaryMarks(payload: [UInt8]) {
        let settings = localSettings(port: 1883)
        var marks = RetainedMarks()
        let areOther = [[0x82], payload, payload].map { marks.keep(settings, "push", $0) }
        #expect(areOther == [true, true, false])
    }
}

/// What is told of links that end, and how long the next one waits.
struct LinkPausesTests {
    private let settings: MQTTSettings = {
        var settings = MQTTSettings(host: "h", topic: "t")
        (settings.backoff, settings.maxBackoff) = (.seconds(1), .seconds(8))
        settings.maxRefusalBackoff = .seconds(60)
        return settings
    }()

    @Test("a link that held for long, or that this side has lost, begins the count anew", arguments: [true, false])
    func anew(isByBroker: Bool) {
        var pauses = LinkPauses(settings, clientID: "lamp")
        func lose(_ pauses: inout LinkPauses, _ held: Duration, isByBroker: Bool = true) -> String {
            pauses.afterLoss("gone", isByBroker: isByBroker, held: held, random: 0.5).words
        }
        let first = (0..<2).map { _ in lose(&pauses, .milliseconds(1)) }
        let between = lose(&pauses, isByBroker ? .seconds(3600) : .milliseconds(1), isByBroker: isByBroker)
        let last = lose(&pauses, .milliseconds(1))
        #expect(first + [between, last] == ["gone", "gone", "gone", "gone"])
    }

    @Test("short links in a row may be those of a birth message that the broker refuses")
    func refusedBirth() {
        var settings = settings
        settings.birth = .init(topic: "t", payload: [])
        var pauses = LinkPauses(settings, clientID: "lamp")
        let told = (0..<3).map { _ in
            pauses.afterLoss("gone", isByBroker: true, held: .milliseconds(1), random: 0.5).words
        }
        #expect(told[1] == "gone" && told[2].hasSuffix(", or allow this user to publish the birth message"))
    }

    @Test("a refusal is told once, and again after anything else; only an admission makes its pause the first again")
    func refusals() {
        var pauses = LinkPauses(settings, clientID: "lamp")
        func refuse(_ why: String) -> String {
            let (words, pause) = pauses.afterRefusal(why, random: 0.5)
            return "\(words ?? "-") \(pause / .seconds(1))"
        }
        let told = [refuse("a"), refuse("a"), refuse("b")]
        pauses.forgetRefusal()
        let again = refuse("b")
        pauses.noteAdmission()
        let first = refuse("b")
        #expect(told + [again, first] == ["a 1.0", "- 2.0", "b 4.0", "b 8.0", "b 1.0"])
    }
}
#endif
