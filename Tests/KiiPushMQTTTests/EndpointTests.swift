import KiiPush
import KiiPushMQTT
import Testing

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

    @Test("everything that is wrong is told at once")
    func all() throws {
        let error = try #require(throws: MQTTSettingsError.self) { try settings(#"{"host":1,"version":2}"#) }
        #expect(error.problems.count == 4, "\(error)")
    }
}
