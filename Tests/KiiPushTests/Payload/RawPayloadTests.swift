import Testing

@testable import KiiPush

struct RawPayloadTests {
    @Test("transports are an open set of names")
    func transports() {
        #expect(
            [Transport.apns, .fcm, .jpush, .mqtt, .quickblox].map(\.name) == [
                "apns", "fcm", "jpush", "mqtt", "quickblox",
            ])
        #expect(Transport("apns") == .apns && "apns" == Transport.apns && Transport("APNS") != .apns)
        let name = "radio"
        #expect("\(Transport(name))" == "radio" && Transport(name) == "radio")
    }
}
