import KiiPush
import KiiPushMQTT
import Testing

struct AddressTests {
    @Test("an address without a port")
    func plain() throws { #expect(try MQTTSettings(address: "mqtt://h/t").port == 1883) }
}
