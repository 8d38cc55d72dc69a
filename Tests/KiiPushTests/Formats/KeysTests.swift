import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// The spelling of every key on the wire.
struct FieldKeysTests {
    private static let spelled: [(field: KiiField, short: String, long: String)] = [
        (.appID, "a", "appID"), (.sender, "s", "sender"), (.origin, "o", "origin"), (.when, "w", "when"),
        (.type, "t", "type"), (.topic, "to", "topic"), (.scopeAppID, "sa", "objectScopeAppID"),
        (.scopeUserID, "su", "objectScopeUserID"), (.scopeGroupID, "sg", "objectScopeGroupID"),
        (.scopeThingID, "sth", "objectScopeThingID"), (.scopeType, "st", "objectScopeType"),
        (.bucketID, "bi", "bucketID"), (.bucketType, "bt", "bucketType"), (.objectID, "oi", "objectID"),
        (.objectModifiedAt, "om", "modifiedAt"), (.sourceURI, "sourceURI", "sourceURI"),
        (.senderURI, "senderURI", "senderURI"),
    ]

    @Test("every field has its two keys, and is read from each", arguments: spelled)
    func keys(_ field: KiiField, _ short: String, _ long: String) throws {
        #expect(field.shortName == short)
        #expect(field.longName == long)
        let value = field.isTime ? "1403844866395" : "text of \(field)"
        #expect(try PushMessage(json: "{\"aps\":{},\"\(short)\":\"\(value)\"}")[field] == value)
        #expect(try PushMessage(json: "{\"\(long)\":\"\(value)\"}")[field] == value)
        let message = try PushMessage(json: "{\"\(short)\":\"\(value)\"}", over: .apns)
        #expect(KiiField.allCases.map { message[$0] } == KiiField.allCases.map { $0 == field ? value : nil })
        #expect(try PushMessage(json: "{\"aps\":{},\"\(long)\":\"\(value)\"}", over: .fcm)[field] == value)
    }

    @Test("the table has all fields")
    func complete() {
        #expect(Self.spelled.map(\.field) == KiiField.allCases)
    }
}

struct NetworkKeysTests {
    private static let added = [
        "from", "collapse_key", "google.message_id", "google.sent_time", "google.", "google.c.a.e",
        "gcm.notification.body", "gcm.", "gcm.n.e", "_kl",
    ]
    private static let senders = [
        "From", "from ", "fro", "froms", "collapse-key", "collapse_keys", "google", "googlE.x", "xgoogle.x", "gcm",
        "gcmx", "my.gcm.x", "message_type", "message", "_k", "_kl2", "kl", "_KL", "", "data", "priority",
    ]

    private func data(_ key: String) throws -> [String] {
        // Both as it is, and with its first character escaped.
        let escaped = key.unicodeScalars.first.map { "\\u" + $0.value.digits(4, radix: 16) + String(key.dropFirst()) }
        var keys: [String] = []
        for spelling in [key, escaped ?? key] {
            keys += try PushMessage(json: "{\"\(spelling)\":\"v\"}").data.keys
        }
        return keys
    }

    @Test("network keys and the stamp are not data, however escaped", arguments: added)
    func network(_ key: String) throws {
        #expect(try data(key) == [])
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

struct RootKeyTests {
    private static let names: [String] =
        KiiField.allCases.map(\.longName) + KiiField.allCases.map(\.shortName).filter { $0.utf8.count <= 3 } + [
            "aps", "_kl",
        ]

    @Test("longer, shorter or differently written keys are a sender's", arguments: names)
    func neighbours(_ name: String) throws {
        var neighbours = [
            name + "x", "x" + name, name + " ", " " + name, name + "\u{0}", name + "s", name.uppercased(), name + name,
            String(name.dropFirst()), String(name.dropLast()), name.lowercased(),
        ]
        // One character changed, at each place: every byte of a key must count.
        for index in name.indices {
            neighbours += ["_", "é"].map { name.replacingCharacters(at: index, with: $0) }
        }
        for neighbour in neighbours where !Self.names.contains(neighbour) {
            for transport in [Transport.apns, .mqtt] {
                // Near the text's end a short key is read another way.
                for (rest, keys) in [("", [neighbour]), (",\"rest\":\"0123456789abcdef\"", [neighbour, "rest"])] {
                    let message = try PushMessage(json: "{\(neighbour.quotedAsJSON):1\(rest)}", over: transport)
                    #expect(message.data.keys == keys && KiiField.allCases.allSatisfy { message[$0] == nil })
                }
            }
        }
    }

    @Test("reads keys of any length, with white space, near the end of the text", arguments: 0...64)
    func lengths(_ length: Int) throws {
        let name = String(repeating: "k", count: length)
        for behind in 1...16 {
            let value = String(repeating: "7", count: behind)
            for text in ["{\"\(name)\":\(value)}", "{\"\(name)\" :\(value)}", "{ \"\(name)\": \(value)}"] {
                let data = try PushMessage(json: text).data
                #expect(data.keys == [name] && data[name] == .number(value))
            }
            #expect(throws: DecodeError.self) { try PushMessage(json: "{\"\(name)\"\(value)          }") }
        }
    }
}

extension String {
    fileprivate func replacingCharacters(at index: Index, with character: Character) -> String {
        var copy = self
        copy.replaceSubrange(index...index, with: String(character))
        return copy
    }
}

struct DialectTests {
    private static let byBody: [(payload: String, dialect: Dialect)] = [
        (#"{"aps":{}}"#, .apns), (#"{"aps":{"alert":"x"},"bucketID":"b"}"#, .apns),
        (#"{"bi":"b","to":"t","a":"x","aps":{}}"#, .apns), (#"{"\u0061ps":{}}"#, .apns), (#"{}"#, .long),
        (#"{"bi":"b","st":"APP"}"#, .long), (#"{"APS":{}}"#, .long), (#"{"aps":"{}"}"#, .long), (#"{"aps":[]}"#, .long),
        (#"{"aps":null}"#, .long), (#"{"aps":1}"#, .long), (#"{"aps":true}"#, .long), (#"{"k":{"aps":{}}}"#, .long),
    ]

    @Test(
        "without a stated transport, an aps that is an object means short keys, and nothing else does",
        arguments: byBody)
    func body(payload: String, dialect: Dialect) throws {
        #expect(try PushMessage(json: payload).dialect == dialect)
        // A transport that nobody knows is as good as none.
        #expect(try PushMessage(json: payload, over: "radio").dialect == dialect)
    }

    @Test("a stated transport decides, not the body", arguments: byBody)
    func stated(payload: String, _: Dialect) throws {
        let stated: [(Transport, Dialect)] = [
            (.apns, .apns), (.fcm, .long), (.mqtt, .long), (.jpush, .jpush), (.quickblox, .foreign),
        ]
        for (transport, dialect) in stated {
            #expect(try PushMessage(json: payload, over: transport).dialect == dialect)
        }
    }

    @Test("an aps that is text beside long keys is neither dictionary nor data")
    func textAPS() throws {
        let message = try PushMessage(json: #"{"aps":"x","topic":"t","objectScopeType":"APP"}"#)
        #expect(message.dialect == .long && message.topic?.name == "t")
        #expect(message.aps == nil && message.alert == nil && message.data.isEmpty)
    }
}
