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

    @Test("does not read keys of the other style", arguments: spelled.dropLast(2))
    func otherStyle(_ field: KiiField, _ short: String, _ long: String) throws {
        #expect(try PushMessage(json: "{\"aps\":{},\"\(long)\":\"1\"}")[field] == nil)
        #expect(try PushMessage(json: "{\"\(short)\":\"1\"}")[field] == nil)
    }

    @Test("the table has all fields")
    func complete() {
        #expect(Self.spelled.map(\.field) == KiiField.allCases)
    }
}
