import KiiPush
import KiiPushMQTT
import Testing

struct AddressTests {
    @Test("an address without a port")
    func plain() throws { #expect(try MQTTSettings(address: "mqtt://h/t").port == 1883) }
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
