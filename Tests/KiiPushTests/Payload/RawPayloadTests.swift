import Testing

@testable import KiiPush

struct RawPayloadTests {
    @Test("keeps what the transport reported")
    func keeps() {
        let arrived = MonotonicInstant(nanoseconds: 5)
        let payload = RawPayload(
            [0x7B, 0x7D], transport: .fcm, transportMessageID: "m-1", isRedelivered: true, arrivedAt: arrived)
        #expect(payload.bytes == [0x7B, 0x7D])
        #expect(payload.transport == .fcm)
        #expect(payload.transportMessageID == "m-1")
        #expect(payload.isRedelivered)
        #expect(payload.arrivedAt == arrived)
    }

    @Test("a text payload has no transport")
    func text() {
        let payload = RawPayload("{\"a\":\"é\"}")
        #expect(payload == RawPayload(Array("{\"a\":\"é\"}".utf8)))
        #expect(payload.transport == nil && payload.transportMessageID == nil && payload.arrivedAt == nil)
        #expect(!payload.isRedelivered)
    }

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
