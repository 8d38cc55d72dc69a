import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct DialectTests {
    private static let byBody: [(payload: String, dialect: Dialect)] = [
        (#"{"aps":{}}"#, .apns), (#"{"aps":{"alert":"x"},"bucketID":"b"}"#, .apns),
        (#"{"bi":"b","to":"t","a":"x","aps":{}}"#, .apns), (#"{"\u0061ps":{}}"#, .apns),
        (#"{}"#, .long), (#"{"bi":"b","st":"APP"}"#, .long), (#"{"APS":{}}"#, .long),
        (#"{"aps":"{}"}"#, .long), (#"{"aps":[]}"#, .long), (#"{"aps":null}"#, .long),
        (#"{"aps":1}"#, .long), (#"{"aps":true}"#, .long), (#"{"k":{"aps":{}}}"#, .long),
    ]

    @Test(
        "without a stated transport, an aps that is an object means short keys, and nothing else does",
        arguments: byBody)
    func body(payload: String, dialect: Dialect) throws {
        #expect(try PushMessage(json: payload).dialect == dialect)
        // A transport that nobody knows is as good as none.
        #expect(try PushMessage(json: payload, over: "radio").dialect == dialect)
    }

    @Test("a stated transport decides over the body", arguments: byBody)
    func stated(payload: String, _: Dialect) throws {
        let stated: [(Transport, Dialect)] = [
            (.apns, .apns), (.fcm, .long), (.mqtt, .long), (.jpush, .jpush), (.quickblox, .foreign),
        ]
        for (transport, dialect) in stated {
            #expect(try PushMessage(json: payload, over: transport).dialect == dialect)
        }
    }

    private static let both =
        #"{"aps":{"alert":"x"},"bi":"short","st":"APP","to":"t","bucketID":"long","objectScopeType":"APP_AND_USER","#
        + #""objectScopeUserID":"U"}"#

    @Test("of a payload in both styles only the keys of its own are read; the others are the sender's")
    func onlyItsOwn() throws {
        let short = try PushMessage(json: Self.both, over: .apns)
        #expect(short[.bucketID] == "short" && short.scope.kind == .app && short[.scopeUserID] == nil)
        #expect(short.data.keys == ["bucketID", "objectScopeType", "objectScopeUserID"])
        let long = try PushMessage(json: Self.both, over: .mqtt)
        #expect(long[.bucketID] == "long" && long.scopeUser == KiiUser(id: "U") && long[.topic] == nil)
        #expect(long.data.keys == ["bi", "st", "to"])
        // Apple's dictionary is read wherever it stands, and is never data.
        #expect(short.alert?.body == "x" && long.alert?.body == "x")
    }

    @Test("an aps that is text beside long keys is no dictionary and no data")
    func textAPS() throws {
        let message = try PushMessage(json: #"{"aps":"x","topic":"t","objectScopeType":"APP"}"#)
        #expect(message.dialect == .long && message.topic?.name == "t")
        #expect(message.aps == nil && message.alert == nil && message.data.isEmpty)
    }
}
