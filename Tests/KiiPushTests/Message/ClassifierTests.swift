@_spi(Hostile) import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// The witnesses for a kind, each alone and with its evidence.
struct ClassifierTests {
    @Test(
        "on short keys a bucket or object key makes a Push to App, and the topic a Push to User",
        arguments: [
            Judged.app(#"{"aps":{},"bi":"b"}"#, by: "bi"), .app(#"{"aps":{},"bt":"rw"}"#, by: "bt"),
            .app(#"{"aps":{},"oi":"o"}"#, by: "oi"), .app(#"{"aps":{},"om":1}"#, by: "om"),
            .app(#"{"om":1,"oi":"o","bt":"rw","bi":"b","aps":{}}"#, by: "bi bt oi om"),
            .app(#"{"bi":"b"}"#, over: .apns, by: "bi"), .user(#"{"to":"t"}"#, over: .apns, by: "to"),
            .user(#"{"aps":{},"to":"t"}"#, by: "to"),
            .user(#"{"aps":{},"to":"t","o":"EXPLICIT","t":"DATA_OBJECT_CREATED"}"#, by: "to"),
            .app(#"{"aps":{},"bi":"b","o":"EVENT"}"#, by: "bi"), .app(#"{"aps":{},"om":1,"o":"EVENT"}"#, by: "om"),
        ])
    func shortKeys(_ judged: Judged) throws { try judged.check() }

    @Test(
        "on long keys the origin or a bucket key makes a Push to App, and the topic a Push to User",
        arguments: [
            Judged.app(#"{"origin":"EVENT"}"#, by: "origin"), .app(#"{"bucketID":"b"}"#, by: "bucketID"),
            .app(#"{"bucketType":"rw"}"#, by: "bucketType"),
            .app(#"{"bucketType":"rw","bucketID":"b","origin":"EVENT"}"#, by: "origin bucketID bucketType"),
            .app(#"{"origin":"EVENT","objectID":"o","modifiedAt":"1"}"#, by: "origin"),
            .user(#"{"topic":"t"}"#, by: "topic"), .user(#"{"topic":"t","origin":"EXPLICIT"}"#, by: "topic"),
            .user(#"{"topic":"t","origin":"event"}"#, by: "topic"),
            .user(#"{"aps":{},"topic":"t"}"#, over: .mqtt, by: "topic"),
            .app(#"{"bucketID":"b"}"#, over: .jpush, by: "bucketID"),
        ])
    func longKeys(_ judged: Judged) throws { try judged.check() }

    @Test(
        "without evidence it is likely a Direct Push",
        arguments: [
            Judged.direct("{}"), .direct(#"{"aps":{}}"#), .direct("{}", over: .apns),
            .direct(#"{"aps":{"alert":{"body":"hello"}}}"#, over: .apns),
            .direct(#"{"text":"hello","bucket":"b"}"#, over: .fcm),
            // All that Kii documents for one: who, which app, when, and a type of the sender's.
            .direct(#"{"aps":{},"s":"U","a":"app","t":"x","w":1,"o":"EXPLICIT"}"#),
            .direct(#"{"sender":"U","type":"DATA_OBJECT_CREATED","when":"1"}"#), .direct(#"{"origin":"EXPLICIT"}"#),
            .direct(#"{"origin":"Event"}"#),
            // On long keys an object alone makes no Push to App.
            .direct(#"{"objectID":"o"}"#), .direct(#"{"modifiedAt":1}"#),
            // Keys of the other style are a sender's own.
            .direct(#"{"bi":"b","to":"t"}"#), .direct(#"{"aps":{},"bucketID":"b","topic":"t"}"#),
            .direct(#"{"aps":{},"bi":"b"}"#, over: .fcm), .direct(#"{"topic":"t"}"#, over: .apns),
            // Nor do nested keys count.
            .direct(#"{"k":{"bucketID":"b","topic":"t"}}"#), .direct(#"{"aps":{"bi":"b","to":"t"}}"#),
        ])
    func absence(_ judged: Judged) throws { try judged.check() }

    @Test(
        "null and what is blank count as absent, beside good keys and alone",
        arguments: [
            Judged.app(#"{"bucketID":"b","topic":null}"#, by: "bucketID"),
            .user(#"{"bucketID":null,"bucketType":null,"origin":null,"topic":"t"}"#, by: "topic"),
            .user(#"{"aps":{},"bi":null,"om":null,"to":"t","w":null}"#, by: "to"),
            .direct(#"{"aps":{},"to":null,"st":null,"text":"hello"}"#),
            .user(#"{"topic":"t","sourceURI":null,"senderURI":null,"when":null}"#, by: "topic"),
            .app(#"{"topic":null,"bucketID":"b"}"#, over: .jpush, by: "bucketID"),
            .app(#"{"cn.jpush.android.MESSAGE":"{\"bucketID\":\"b\",\"topic\":null}"}"#, by: "bucketID"),
            .app(#"{"data":{"bucketID":"b","topic":null}}"#, over: .fcm, by: "bucketID"),
            .direct(
                #"{"commandID":"c","actions":[{"a":[{"x":1}]}],"topic":null,"sender":null}"#,
                over: .mqtt, by: "commandID actions"),
            .direct(#"{"topic":null,"dialog_id":"d"}"#, by: "dialog_id"),
            // And so does what is blank.
            .direct(#"{"aps":{},"bi":"","bt":" ","oi":"\t","om":"","to":"\n "}"#),
            .direct(#"{"bucketID":"","bucketType":"\u0020","origin":"","topic":""}"#),
            .user(#"{"bucketID":"","topic":"t"}"#, by: "topic"),
            .user(#"{"aps":{},"bi":"  ","to":"t","oi":""}"#, by: "to"),
            .app(#"{"bucketID":"b","topic":""}"#, by: "bucketID"),
            .user(#"{"sourceURI":"","senderURI":" ","topic":"t"}"#, by: "topic"),
            .direct(#"{"when":"","modifiedAt":" ","sender":""}"#),
        ])
    func null(_ judged: Judged) throws { try judged.check() }

    @Test(
        "the source's URI is evidence for each kind, alone or beside keys",
        arguments: [
            Judged.app(#"{"sourceURI":"kiicloud://buckets/b"}"#, by: "sourceURI"),
            .app(#"{"sourceURI":"kiicloud://app/users/U/buckets/b/objects/o"}"#, by: "sourceURI"),
            .user(#"{"sourceURI":"kiicloud://things/th.1/topics/t"}"#, by: "sourceURI"),
            .user(#"{"topic":"t","sourceURI":"kiicloud://topics/t"}"#, by: "topic sourceURI"),
            .app(#"{"bucketID":"b","sourceURI":"kiicloud://buckets/b"}"#, by: "bucketID sourceURI"),
            .app(#"{"origin":"EVENT","sourceURI":"kiicloud://groups/g/buckets/b"}"#, by: "origin sourceURI"),
            .app(#"{"objectID":"o","sourceURI":"kiicloud://buckets/b/objects/o"}"#, by: "sourceURI"),
            .app(#"{"aps":{},"bi":"b","sourceURI":"kiicloud://buckets/b"}"#, by: "bi sourceURI"),
            .direct(#"{"sourceURI":"kiicloud://users/U"}"#, by: "sourceURI"),
            .direct(#"{"sourceURI":"kiicloud://app/users/U"}"#, by: "sourceURI"),
            .direct(
                #"{"sourceURI":"kiicloud://users/U","senderURI":"kiicloud://admins/APP_ADMIN"}"#,
                by: "sourceURI senderURI"),
            // Another owner alone is no recipient, and what is no URI of Kii's is no witness.
            .direct(#"{"sourceURI":"kiicloud://groups/G"}"#), .direct(#"{"sourceURI":"kiicloud://app/groups/G"}"#),
            .direct(#"{"sourceURI":"kiicloud://things/th.1"}"#), .direct(#"{"sourceURI":"kiicloud://people/P"}"#),
            .direct(#"{"sourceURI":"kiicloud://admins/APP_ADMIN"}"#),
            .direct(#"{"sourceURI":"https://users/U"}"#), .direct(#"{"sourceURI":"users/U/buckets/b"}"#),
            .direct(#"{"sourceURI":"kiicloud://"}"#), .direct(#"{"sourceURI":"kiicloud://buckets"}"#),
            .user(#"{"topic":"t","sourceURI":"nonsense"}"#, by: "topic"),
        ])
    func sourceURI(_ judged: Judged) throws { try judged.check() }

    @Test(
        "an administrator's URI speaks for a Direct Push only when nothing speaks for another kind",
        arguments: [
            Judged.direct(#"{"senderURI":"kiicloud://admins/APP_ADMIN"}"#, by: "senderURI"),
            .direct(#"{"aps":{},"senderURI":"kiicloud://admins/other"}"#, by: "senderURI"),
            .direct(#"{"senderURI":"kiicloud://users/U"}"#), .direct(#"{"senderURI":"nonsense"}"#),
            .user(#"{"topic":"t","senderURI":"kiicloud://admins/APP_ADMIN"}"#, by: "topic"),
            .app(#"{"bucketID":"b","senderURI":"kiicloud://admins/APP_ADMIN"}"#, by: "bucketID"),
            .user(#"{"sourceURI":"kiicloud://topics/t","senderURI":"kiicloud://admins/A"}"#, by: "sourceURI"),
        ])
    func senderURI(_ judged: Judged) throws { try judged.check() }

    @Test(
        "every kind is certain in every scope and key style, and a Direct Push by absence likely",
        arguments: PayloadFixture.matrix)
    func matrix(
        _ it: (name: String, kind: PushKind, scope: KiiScope?, style: PayloadFixture.KeyStyle, payload: RawPayload)
    ) throws {
        let message = try PushMessage(it.payload)
        #expect(message.kind == it.kind, "\(it.name)")
        #expect(message.certainty == (it.kind == .directPush ? .likely : .certain), "\(it.name)")
        #expect(message.classification.conflicts == [], "\(it.name)")
        #expect(message.dialect == (it.style == .short ? .apns : .long))
        #expect(message.scope.owner == it.scope)
        #expect(message.bucket?.scope == (it.kind == .pushToApp ? it.scope : nil))
        #expect(message.object?.id == (it.kind == .pushToApp ? "o-1" : nil))
        let topic = it.scope.map { KiiTopic(scope: $0, name: "news") }
        #expect(message.topic == (it.kind == .pushToUser ? topic : nil))
    }
}

/// A payload, and what it must be taken for: kind, certainty, evidence and conflicts, exactly.
struct Judged: Sendable, CustomTestStringConvertible {
    let payload: String
    let transport: Transport?
    let kind: PushKind
    let certainty: Certainty
    let evidence: [String]
    let conflicts: [String]

    var testDescription: String { "\(payload) over \(transport?.name ?? "any transport")" }

    /// Ambiguous, for the conflicts' names; else certain, but likely without evidence, or with that of a scope alone.
    init(
        _ payload: String, over transport: Transport? = nil, _ kind: PushKind, by evidence: String,
        despite conflicts: String
    ) {
        (self.payload, self.transport, self.kind) = (payload, transport, kind)
        self.evidence = evidence.split(separator: " ").map(String.init)
        self.conflicts = conflicts.split(separator: " ").map(String.init)
        certainty =
            !conflicts.isEmpty ? .ambiguous : self.evidence.allSatisfy(Self.scopeKeys.contains) ? .likely : .certain
    }

    /// A Push to App, by keys with a space between each two.
    static func app(
        _ payload: String, over transport: Transport? = nil, by evidence: String, despite conflicts: String = ""
    ) -> Judged { Judged(payload, over: transport, .pushToApp, by: evidence, despite: conflicts) }

    /// A Push to User.
    static func user(
        _ payload: String, over transport: Transport? = nil, by evidence: String, despite conflicts: String = ""
    ) -> Judged { Judged(payload, over: transport, .pushToUser, by: evidence, despite: conflicts) }

    /// A Direct Push.
    static func direct(
        _ payload: String, over transport: Transport? = nil, by evidence: String = "", despite conflicts: String = ""
    ) -> Judged { Judged(payload, over: transport, .directPush, by: evidence, despite: conflicts) }

    private static let scopeKeys: Set<String> = Set(
        [KiiField.scopeType, .scopeAppID, .scopeUserID, .scopeGroupID, .scopeThingID]
            .flatMap { [$0.shortName, $0.longName] })

    func check(app: String? = nil) throws {
        let message = try PushMessage(json: payload, over: transport, app: app)
        let classification = message.classification
        #expect(classification.kind == kind)
        #expect(classification.certainty == certainty)
        #expect(classification.evidence == evidence)
        #expect(classification.conflicts.map(\.name) == conflicts)
        try Invariants.check(RawPayload(payload, transport: transport))
    }
}
