import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct DialectTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let payload: String
        let transport: Transport?
        let dialect: Dialect
        var testDescription: String { "\(payload) over \(transport?.name ?? "any transport")" }

        init(_ payload: String, over transport: Transport? = nil, is dialect: Dialect) {
            self.payload = payload
            self.transport = transport
            self.dialect = dialect
        }
    }

    private static let byBody = [
        Case(#"{"aps":{}}"#, is: .apns), Case(#"{"aps":{"alert":"x"},"bucketID":"b"}"#, is: .apns),
        Case(#"{"bi":"b","to":"t","a":"x","aps":{}}"#, is: .apns), Case(#"{"\u0061ps":{}}"#, is: .apns),
        Case(#"{}"#, is: .long), Case(#"{"bi":"b","st":"APP"}"#, is: .long), Case(#"{"APS":{}}"#, is: .long),
        Case(#"{"aps":"{}"}"#, is: .long), Case(#"{"aps":[]}"#, is: .long), Case(#"{"aps":null}"#, is: .long),
        Case(#"{"aps":1}"#, is: .long), Case(#"{"aps":true}"#, is: .long), Case(#"{"k":{"aps":{}}}"#, is: .long),
    ]

    @Test(
        "without a stated transport, an aps that is an object means short keys, and nothing else does",
        arguments: byBody)
    func body(_ it: Case) throws {
        #expect(try PushMessage(json: it.payload, over: it.transport).dialect == it.dialect)
        // A transport that nobody knows is as good as none.
        #expect(try PushMessage(json: it.payload, over: "radio").dialect == it.dialect)
    }

    @Test("a stated transport decides over the body", arguments: byBody)
    func stated(_ it: Case) throws {
        let stated: [(Transport, Dialect)] = [
            (.apns, .apns), (.fcm, .long), (.mqtt, .long), (.jpush, .jpush), (.quickblox, .foreign),
        ]
        for (transport, dialect) in stated {
            #expect(try PushMessage(json: it.payload, over: transport).dialect == dialect)
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
