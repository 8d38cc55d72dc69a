import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct APIReplyTests {
    private static let replies = [
        "HTTP/1.1 200 OK\r\nX-Kii-RequestID: r-1\r\n\r\n{\"commandID\":\"c-1\"}",
        "HTTP/1.1 200 OK\nX-Kii-RequestID: r-1\n\n{}", "201 Created\r\nContent-Type: application/json\r\n\r\n{}",
        "PUT /thing-if/apps/a/targets\r\nA:\r\n\r\n", "x\n1: y", "Réponse 204\r\nX-Kii-RequestID: r-1\r\n\r\n",
        String(repeating: "x", count: 1023) + "\nA: b",
    ]

    @Test(
        "an API reply over MQTT is reported as such", arguments: replies,
        [nil, Transport.mqtt, .apns, .fcm, .jpush, "radio"])
    func reply(text: String, transport: Transport?) {
        let error = #expect(throws: DecodeError.self) { try PushMessage(json: text, over: transport) }
        #expect(error?.code == .notAPush && error?.offset == 0)
        #expect(error?.detail.contains("only the push topic carries pushes") == true)
    }

    @Test(
        "text that only resembles a reply is a JSON error",
        arguments: [
            // No second line, or none that is a header.
            "HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\n\r\n{}", "HTTP/1.1 200 OK\nX-Kii-RequestID",
            "HTTP/1.1 200 OK\n: r-1", "HTTP/1.1 200 OK\nX Kii: r-1", "HTTP/1.1 200 OK\n{\"a\":1}",
            // A start line that is none.
            "\nA: b", "\r\nA: b", " x\nA: b", "/x\nA: b", "@x\nA: b", "x\rA: b", "x\r", "x\ty\nA: b", "x\u{0}\nA: b",
            "{\"a\"\nA: b", "[\nA: b", String(repeating: "x", count: 1024) + "\nA: b",
        ])
    func resembling(text: String) {
        let error = #expect(throws: DecodeError.self) { try PushMessage(json: text) }
        #expect(error?.code == .unexpectedCharacter)
    }

    @Test("an empty payload, a number and a reply over the limit have their own codes")
    func others() {
        func code(_ text: String, bytes: Int = 64) -> DecodeError.Code? {
            let limits = PayloadLimits(bytes: bytes, depth: 2, members: 8)
            return #expect(throws: DecodeError.self) { try PushMessage(RawPayload(text), limits: limits) }?.code
        }
        #expect(code("") == .empty)
        #expect(code("1") == .notAnObject)
        #expect(code("x\nA: b", bytes: 6) == .notAPush)
        #expect(code("x\nA: b", bytes: 5) == .limitExceeded)
    }
}
