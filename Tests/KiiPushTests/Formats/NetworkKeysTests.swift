import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct NetworkKeysTests {
    private static let added = [
        "from", "collapse_key", "google.message_id", "google.sent_time", "google.", "google.c.a.e",
        "gcm.notification.body", "gcm.", "gcm.n.e",
    ]
    private static let senders = [
        "From", "from ", "fro", "froms", "collapse-key", "collapse_keys", "google", "googlE.x", "xgoogle.x", "gcm",
        "gcmx", "my.gcm.x", "message_type", "message", "_k", "_kl2", "kl", "_KL", "", "data", "priority",
    ]

    private func data(_ key: String) throws -> [String] {
        // Both as it is, and with its first character escaped.
        let escaped = key.unicodeScalars.first.map { first in
            let digits = String(first.value, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits + String(key.dropFirst())
        }
        var keys: [String] = []
        for spelling in [key, escaped ?? key] {
            keys += try PushMessage(json: "{\"\(spelling)\":\"v\"}").data.keys
        }
        return keys
    }

    @Test("network keys are not data, however escaped", arguments: added)
    func network(_ key: String) throws {
        #expect(try data(key) == [])
    }

    @Test("the stamp is not data, however escaped, and not the network's")
    func stamp() throws {
        #expect(try NetworkKeys.stamp == "_kl" && data("_kl") == [])
        let isAdded = NetworkKeys.isAdded("_kl".utf8.span, JSONToken(.string, 0, 3))
        #expect(!isAdded)
    }

    @Test("similar keys are the sender's data", arguments: senders)
    func sender(_ key: String) throws {
        #expect(try data(key) == [key, key])
    }

    @Test("network keys are left out over every transport", arguments: [nil, Transport.apns, .fcm, .mqtt, .jpush])
    func transports(_ transport: Transport?) throws {
        let message = try PushMessage(
            json: #"{"aps":{},"from":"1","a key":2,"collapse_key":"b","google.ttl":3,"gcm.x":4,"_kl":"1;0;me"}"#,
            over: transport)
        #expect(message.data.keys == ["a key"])
    }
}
