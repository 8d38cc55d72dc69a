import KiiPush
import KiiPushDelivery
import KiiPushMQTT
import Testing

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
        for expected in cases {
            let settings = try MQTTSettings(address: expected.address)
            #expect(settings.host == expected.host, "\(expected.address)")
            #expect(settings.port == expected.port, "\(expected.address)")
            #expect(settings.subscriptions == [.init(expected.topic)], "\(expected.address)")
            #expect(settings.user == expected.user, "\(expected.address)")
            #expect(settings.usesTLS == expected.usesTLS, "\(expected.address)")
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
    @Test("a transport is made of an address, and asks for nothing before it runs")
    func transport() throws {
        let (receiver, inbox) = (PushReceiver(), InMemoryInbox())
        var settings = try MQTTSettings(address: "mqtts://device@broker.example/pushes/device")
        settings.password = .file("mqtt-password")
        settings.clientID = "device-17"
        let service = PushService(receiver, [try MQTTTransport(settings)], inbox: inbox)
        #expect(service.status == ServiceStatus())
    }
}
#endif
