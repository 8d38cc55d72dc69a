import Foundation
import KiiPush
import KiiPushDelivery
import Testing

@testable import KiiPushMQTT
@testable import KiiPushTestSupport

/// What settings say together, and the files that they come from.
struct SettingsTests {
    private func settings(_ change: (inout MQTTSettings) -> Void) -> MQTTSettings {
        var settings = MQTTSettings(host: "h", topic: "t")
        settings.clientID = "device"
        change(&settings)
        return settings
    }

    @Test("settings that no broker could use are refused")
    func wrong() throws {
        let cases: [(String, (inout MQTTSettings) -> Void)] = [
            ("host", { $0.host = "" }), ("host", { $0.host = "a\0b" }), ("port", { $0.port = 0 }),
            ("port", { $0.port = 65_536 }), ("topic", { $0.subscriptions[0].filter = "" }),
            ("topic", { $0.subscriptions = [] }),
            ("last level", { $0.subscriptions[0].filter = "a/#/b" }), ("alone", { $0.subscriptions[0].filter = "a#" }),
            ("whole level", { $0.subscriptions[0].filter = "a+/b" }),
            ("in no order", { $0.subscriptions[0].filter = "$share/g/a" }),
            ("named twice", { $0.subscriptions.append(.init("t")) }),
            ("at most 100", { $0.subscriptions += (0..<100).map { .init("\($0)") } }),
            ("birth", { $0.birth = .init(topic: "", payload: []) }),
            ("will", { $0.will = .init(topic: "a/+", payload: []) }),
            ("65536 bytes", { $0.will = .init(topic: "a", payload: [UInt8](repeating: 0, count: 65_537)) }),
            ("topic", { $0.subscriptions[0].filter = String(repeating: "a", count: 65_536) }),
            ("keep-alive", { $0.keepAlive = 4 }),
            ("keep-alive", { $0.keepAlive = 65_536 }), ("client id", { $0.clientID = "" }),
            ("client id", { $0.clientID = "a\nb" }),
            ("client id", { $0.clientID = String(repeating: "a", count: 257) }),
            ("user", { $0.password = .text("x") }), ("user", { $0.user = "a\0" }), ("payload", { $0.payloadLimit = 0 }),
            ("CA file", { $0.caFile = "ca.pem" }),
            ("needs its certificate", { ($0.usesTLS, $0.keyFile) = (true, "k") }),
            ("needs its key", { ($0.usesTLS, $0.certificateFile) = (true, "c") }),
            ("without TLS", { ($0.certificateFile, $0.keyFile) = ("c", "k") }),
            ("NUL", { ($0.user, $0.password) = ("u", .text("a\0b")) }),
        ]
        for (what, change) in cases {
            let error = #expect(throws: MQTTSettingsError.self) { try settings(change).check() }
            #expect(error?.description.contains(what) == true, "\(what): \(String(describing: error))")
        }
        try settings { _ in }.check()
        try settings { ($0.clientID, $0.cleanSession) = ("", true) }.check()
    }

    @Test("a file with a password is refused when others could read it")
    func endpointFile() throws {
        let folder = try Folder()
        let secret = #"{"host":"h","mqttTopic":"t","portTCP":1,"username":"u","password":"p"}"#
        let path = try folder.write(secret, to: "e.json")
        #expect(try MQTTSettings(endpointFile: path).password == .text("p"))
        for mode in [0o640, 0o604, 0o610] as [mode_t] {
            #expect(unsafe chmod(path, mode) == 0)
            let error = #expect(throws: MQTTSettingsError.self) { try MQTTSettings(endpointFile: path) }
            #expect(error?.description.contains("chmod 600") == true)
        }
        #expect(unsafe chmod(path, 0o644) == 0)
        try folder.write(#"{"host":"h","mqttTopic":"t","portTCP":1}"#, to: "e.json")
        #expect(try MQTTSettings(endpointFile: path).port == 1)
        try folder.write("{\n\"host\":}", to: "e.json")
        let wrong = #expect(throws: MQTTSettingsError.self) { try MQTTSettings(endpointFile: path) }
        #expect(wrong?.description.hasPrefix("\(path):2:8: ") == true, "\(String(describing: wrong))")
        let missing = #expect(throws: MQTTSettingsError.self) { try MQTTSettings(endpointFile: path + "x") }
        #expect(missing?.description == "\(path)x: cannot be read: No such file or directory")
    }

    @Test("pauses double up to the longest, and begin anew only after a link that held for much longer")
    func backoff() {
        var backoff = Backoff(first: .seconds(1), longest: .seconds(8))
        func next(_ held: Duration = .zero, _ random: Double = 0.5) -> Double {
            (backoff.next(afterLinkOf: held, random: random) / .milliseconds(1)).rounded() / 1000
        }
        #expect((0..<5).map { _ in next() } == [1, 2, 4, 8, 8])
        // Links that hold as long as the other one of two waits are no success.
        #expect((0..<3).map { _ in next(.seconds(9)) } == [8, 8, 8])
        #expect(next(.seconds(31)) == 8 && next(.seconds(32)) == 1)
        // After a short pause a link has to hold for a while too.
        #expect(next(.seconds(9)) == 2 && next(.seconds(10)) == 1)
        #expect(next(.seconds(100), 0) == 0.8 && next(.seconds(100), 1) == 1.2)
        var strange = Backoff(first: .zero, longest: .seconds(-1))
        #expect(strange.next(afterLinkOf: .zero, random: 7) == .microseconds(1200))
    }

    @Test("an answer about who asks is a refusal, one about the moment is not")
    func answers() {
        for version in [MQTTSettings.Version.v31, .v311] {
            #expect((1...5).filter { MQTTAnswers.isRefusal(connection: $0, version) } == [1, 2, 4, 5])
            #expect(MQTTAnswers.isRefusal(subscription: 0x80, version))
        }
        let refused = (Int32(0x80)...0xA2).filter { MQTTAnswers.isRefusal(connection: $0, .v5) }
        #expect(refused == [0x84, 0x85, 0x86, 0x87, 0x8A, 0x8C, 0x90, 0x95, 0x99, 0x9A, 0x9D])
        let passing = (Int32(0x80)...0xA2).filter { !MQTTAnswers.isRefusal(subscription: $0, .v5) }
        #expect(passing == [0x80, 0x83, 0x91, 0x97])
        for (reason, words) in [
            ("Connection Refused: not authorised.", "not authorised"), ("Not authorized", "not authorized"), ("", ""),
        ] { #expect(MQTTAnswers.words(reason) == words) }
    }
}

/// Settings from an address.
struct AddressTests {
    @Test("an address says host, port, topic, user and whether the link is encrypted")
    func parts() throws {
        let cases: [(address: String, host: String, port: Int, topic: String, user: String?, usesTLS: Bool)] = [
            ("mqtt://h/t", "h", 1883, "t", nil, false),
            ("mqtts://h/t", "h", 8883, "t", nil, true),
            ("mqtt://broker.example:18830/a/b//c/", "broker.example", 18830, "a/b//c/", nil, false),
            ("mqtts://me@h:1/t", "h", 1, "t", "me", true),
            ("mqtt://a%40b%3A@h/t", "h", 1883, "t", "a@b:", false),
            ("mqtt://[::1]:99/t", "::1", 99, "t", nil, false),
            ("mqtt://[fe80::1.2.3.4]/t", "fe80::1.2.3.4", 1883, "t", nil, false),
            ("mqtt://h/caf%C3%A9%2Fx%3F%20y", "h", 1883, "café/x? y", nil, false),
            ("mqtt://h/a:b@c", "h", 1883, "a:b@c", nil, false),
            ("mqtt://h//t", "h", 1883, "/t", nil, false),
            ("mqtt://h/+/a/#", "h", 1883, "+/a/#", nil, false), ("mqtt://h/%23", "h", 1883, "#", nil, false),
        ]
        for (address, host, port, topic, user, usesTLS) in cases {
            var settings = MQTTSettings(host: host, port: port, topic: topic, usesTLS: usesTLS)
            settings.user = user
            #expect(try MQTTSettings(address: address) == settings, "\(address)")
        }
        let settings = try MQTTSettings(address: "mqtt://h/t")
        #expect(settings.version == .v311 && settings.subscriptions[0].quality == .one && !settings.cleanSession)
        #expect(settings.keepAlive == 60 && settings.payloadLimit == 65_536)
    }

    @Test(
        "an address that is wrong is refused with the column",
        arguments: [
            ("", 1, "form"), ("http://h/t", 1, "form"), ("mqtt:/h/t", 1, "form"), ("MQTT://h/t", 1, "form"),
            ("mqtt://", 8, "host"), ("mqtt:///t", 8, "host"), ("mqtt://:1/t", 8, "host"), ("mqtt://me@/t", 11, "host"),
            ("mqtt://h/", 10, "topic"),
            ("mqtt://h:/t", 10, "port"), ("mqtt://h:0/t", 10, "port"), ("mqtt://h:65536/t", 10, "port"),
            ("mqtt://h:1x/t", 10, "port"), ("mqtt://h:+1/t", 10, "port"), ("mqtt://h:000001/t", 10, "port"),
            ("mqtt://me:secret@h/t", 10, "password"), ("mqtt://@h/t", 8, "user"),
            ("mqtt://h h/t", 9, "host"), ("mqtt://h%20/t", 9, "host"),
            ("mqtt://[::1/t", 8, "]"), ("mqtt://[]/t", 9, "IPv6"), ("mqtt://[1.2.3.4]/t", 9, "IPv6"),
            ("mqtt://[::1]x/t", 13, "port"),
            ("mqtt://h/a/#/b", 10, "last level"), ("mqtt://h/a+/a", 10, "whole level"),
            ("mqtt://h/$share/g/t", 10, "shared"), ("mqtt://h/t?x=1", 11, "%3F"),
            ("mqtt://h/%", 10, "hexadecimal"), ("mqtt://h/t%2", 11, "hexadecimal"), ("mqtt://h/%zz", 10, "hexadecimal"),
            ("mqtt://h/%FF", 10, "UTF-8"), ("mqtt://h/a%00", 10, "control"), ("mqtt://h/a%0A", 10, "control"),
        ])
    func wrong(address: String, column: Int, what: String) throws {
        let error = try #require(throws: MQTTSettingsError.self) {
            try MQTTSettings(address: address, source: "--mqtt")
        }
        #expect(error.description.hasPrefix("--mqtt:1:\(column): "), "\(error)")
        #expect(error.description.contains(what), "\(error)")
        #expect(!error.description.contains("secret"))
    }
}

#if MQTT
/// The code of doc comments, so that it compiles.
struct DocumentedMQTTTests {
    @Test("a transport is made of an address, and refuses a password file that is not there")
    func transport() throws {
        let (receiver, inbox) = (PushReceiver(), InMemoryInbox())
        #expect(throws: MQTTSettingsError.self) {
            var settings = try MQTTSettings(address: "mqtts://device@broker.example/pushes/device")
            settings.password = .file("mqtt-password")
            settings.clientID = "device-17"
            let service = PushService(receiver, [try MQTTTransport(settings)], inbox: inbox)
            withExtendedLifetime(service) {}
        }
    }
}
#endif

/// Settings from what Kii's cloud answers.
struct EndpointTests {
    private func settings(_ text: String) throws -> MQTTSettings {
        try MQTTSettings(endpoint: Array(text.utf8), source: "e.json")
    }

    @Test("the documented answer is accepted as it stands")
    func documented() throws {
        let settings = try settings(
            """
            {"installationID":"INSTALLATION_ID","username":"USERNAME","password":"PASSWORD",\
            "mqttTopic":"sFJGc3o0fmvSK8d3KRSMYZM","host":"jp-mqtt-0a0bfd4468f3.kii.com","portTCP":1883,\
            "portSSL":8883,"portWS":12470,"portWSS":12473,"X-MQTT-TTL":2147483647}
            """)
        #expect(settings.host == "jp-mqtt-0a0bfd4468f3.kii.com" && settings.port == 8883 && settings.usesTLS)
        #expect(settings.subscriptions == [.init("sFJGc3o0fmvSK8d3KRSMYZM")])
        #expect(settings.clientID == "sFJGc3o0fmvSK8d3KRSMYZM")
        #expect(settings.user == "USERNAME" && settings.password == .text("PASSWORD"))
        #expect(settings.version == .v31 && !settings.cleanSession)
        #expect(settings.keepAlive == 60 && settings.caFile == nil)
        #expect(!"\(settings)".contains("PASSWORD") && !"\(settings)".contains("\"PASS"))
    }

    @Test("what stands beside Kii's keys counts, null is absent, and unknown keys are ignored")
    func more() throws {
        let settings = try settings(
            """
            {"host":"h","mqttTopic":"t","portTCP":18830,"portSSL":null,"username":null,"ttl":60,"new":{"a":[1]},
             "keepAlive":300,"version":"5","cleanSession":true}
            """)
        #expect(settings.port == 18830 && !settings.usesTLS && settings.user == nil && settings.password == nil)
        #expect(settings.keepAlive == 300 && settings.version == .v5 && settings.cleanSession)
        let numbered = try self.settings(
            """
            {"host":"h","mqttTopic":"t","portSSL":1,"caFile":"ca.pem","certificateFile":"c","keyFile":"k","version":3.1}
            """)
        #expect(numbered.version == .v31 && numbered.caFile == "ca.pem")
        #expect(numbered.certificateFile == "c" && numbered.keyFile == "k" && numbered.usesTLS)
    }

    @Test(
        "a wrong type or value is refused with its place",
        arguments: [
            ("", "1:1", "nothing"), ("[]", "1:1", "an object"), ("{", "1:2", "ends"),
            (#"{"host":1,"mqttTopic":"t","portTCP":1}"#, "1:9", "'host'"),
            (#"{"host":"","mqttTopic":"t","portTCP":1}"#, "1:9", "'host'"),
            ("{\n\"host\":\"h\",\n \"mqttTopic\":[],\"portTCP\":1}", "3:14", "'mqttTopic'"),
            (#"{"mqttTopic":"t","portTCP":1}"#, "1:1", "'host' is missing"),
            (#"{"host":"h","portTCP":1}"#, "1:1", "'mqttTopic' is missing"),
            (#"{"host":"h","mqttTopic":"t"}"#, "1:1", "'portTCP'"),
            (#"{"host":"h","mqttTopic":"t","portTCP":"1883"}"#, "1:39", "65535"),
            (#"{"host":"h","mqttTopic":"t","portTCP":0}"#, "1:39", "65535"),
            (#"{"host":"h","mqttTopic":"t","portSSL":1.5}"#, "1:39", "65535"),
            (#"{"host":"h","mqttTopic":"a/#","portTCP":1}"#, "1:25", "wildcards"),
            (#"{"host":"h","mqttTopic":"t","portTCP":1,"password":"x"}"#, "1:52", "'username'"),
            (#"{"host":"h","mqttTopic":"t","portTCP":1,"username":"u","password":5}"#, "1:67", "'password'"),
            (#"{"host":"h","mqttTopic":"t","portTCP":1,"username":"u","password":"a\u0000b"}"#, "1:67", "NUL"),
            (#"{"host":"h","mqttTopic":"t","portTCP":1,"username":"u\n"}"#, "1:52", "control"),
            (#"{"host":"h","mqttTopic":"t","portTCP":1,"keepAlive":4}"#, "1:53", "'keepAlive'"),
            (#"{"host":"h","mqttTopic":"t","portTCP":1,"version":"4"}"#, "1:51", "'version'"),
            (#"{"host":"h","mqttTopic":"t","portTCP":1,"cleanSession":1}"#, "1:56", "'cleanSession'"),
            (#"{"host":"h","mqttTopic":"t","portTCP":1,"caFile":true}"#, "1:50", "'caFile'"),
            (#"{"host":"h","host":"i","mqttTopic":"t","portTCP":1}"#, "1:13", "duplicate key"),
        ])
    func wrong(text: String, place: String, what: String) throws {
        let error = try #require(throws: MQTTSettingsError.self) { try settings(text) }
        #expect(error.problems[0].description.hasPrefix("e.json:\(place): "), "\(error)")
        #expect(error.problems[0].what.contains(what), "\(error)")
    }

    @Test("all problems are reported at once")
    func all() throws {
        let error = try #require(throws: MQTTSettingsError.self) { try settings(#"{"host":1,"version":2}"#) }
        #expect(error.problems.count == 4, "\(error)")
    }
}
