import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// The payloads that Kii's own documentation prints, read as a whole.
struct DocumentedSampleTests {
    private static let me = "727f20b00022-8d18-5e11-991f-06db2509"

    @Test("Push to App over APNs")
    func appOverAPNs() throws {
        let message = try PushMessage(
            json: #"{"aps":{},"bi":"bucketName","bt":"rw","oi":"fedcba09-8765-4321-fedc-ba0987654321","sa":"0123abcd","#
                + #""st":"APP_AND_USER","su":"01234567-89ab-cdef-0123-456789abcdef","t":"DATA_OBJECT_CREATED","w":1403844866395}"#
        )
        #expect(message.kind == .pushToApp && message.certainty == .certain && message.dialect == .apns)
        #expect(
            message.object?.uri.description
                == "kiicloud://users/01234567-89ab-cdef-0123-456789abcdef/buckets/bucketName"
                + "/objects/fedcba09-8765-4321-fedc-ba0987654321")
        #expect(message.event == .objectCreated && message.sentAt == 1_403_844_866_395 && message.appID == "0123abcd")
        let view = try #require(PushToAppMessage(message))
        #expect(view.certainty == .certain && view.sentAt == message.sentAt && view.alert == nil)
        #expect(message.sender == nil && message.data.isEmpty && message.alert == nil && message.aps?.isSilent == false)
    }

    @Test(
        "Push to User over APNs, and the same with every default key suppressed, which nothing tells from a Direct Push"
    )
    func userOverAPNs() throws {
        let message = try PushMessage(
            json:
                #"{"aps":{"alert":{"body":"short msg only!"}},"s":"cf6de5b5-8927-48a4-a410-xxxxxxxxxxxx","sa":"9a2385ce","#
                + #""st":"APP_AND_USER","su":"e26ad504-8100-4056-b3d3-xxxxxxxxxxxx","to":"MyTopic","w":1373623307000}"#)
        #expect(message.kind == .pushToUser && message.certainty == .certain)
        #expect(
            message.topic?.uri.description == "kiicloud://users/e26ad504-8100-4056-b3d3-xxxxxxxxxxxx/topics/MyTopic")
        #expect(message.senderUser?.id == "cf6de5b5-8927-48a4-a410-xxxxxxxxxxxx")
        let bare = try PushMessage(json: #"{"aps":{"alert":{"body":"Looooooooooooooooooong Message!!"}}}"#)
        #expect(bare.kind == .directPush && bare.certainty == .likely)
    }

    @Test("Push to App over MQTT")
    func appOverMQTT() throws {
        let message = try PushMessage(
            json:
                #"{"modifiedAt":1463364001875,"origin":"EVENT","objectScopeType":"APP_AND_USER","bucketID":"myBucket","#
                + #""type":"DATA_OBJECT_CREATED","when":1463364001908,"bucketType":"rw","sender":"\#(Self.me)","#
                + #""sourceURI":"kiicloud://users/\#(Self.me)/buckets/myBucket/objects/e697ea30-1b09-11e6-ab1e-22000b02f727","#
                + #""appID":"12345678","objectScopeAppID":"12345678","objectScopeUserID":"\#(Self.me)","#
                + #""objectID":"e697ea30-1b09-11e6-ab1e-22000b02f727"}"#, over: .mqtt)
        #expect(message.kind == .pushToApp && message.certainty == .certain)
        #expect(message.classification.evidence == ["origin", "bucketID", "bucketType", "sourceURI"])
        #expect(message.object?.uri.description == message[.sourceURI])
        #expect(message.sender == .user(id: Self.me) && message.appID == "12345678" && message.data.isEmpty)
        #expect(message.sentAt == 1_463_364_001_908 && message.modifiedAt == 1_463_364_001_875)
    }

    @Test("Push to User over MQTT")
    func userOverMQTT() throws {
        let message = try PushMessage(
            json:
                #"{"mymessage":"Hello","sender":"\#(Self.me)","sourceURI":"kiicloud://users/\#(Self.me)/topics/myTopic","#
                + #""objectScopeType":"APP_AND_USER","topic":"myTopic","objectScopeAppID":"12345678","#
                + #""senderURI":"kiicloud://users/\#(Self.me)","when":1463363865798,"objectScopeUserID":"\#(Self.me)"}"#,
            over: .mqtt)
        #expect(message.kind == .pushToUser && message.certainty == .certain)
        #expect(message.classification.evidence == ["topic", "sourceURI"])
        #expect(
            message.topic?.uri.description == message[.sourceURI]
                && message.senderUser?.uri.description == message[.senderURI])
        #expect(message.data.keys == ["mymessage"])
    }

    @Test("Direct Push over MQTT")
    func directOverMQTT() throws {
        let message = try PushMessage(
            json:
                #"{"sourceURI":"kiicloud://users/\#(Self.me)","mymessage":"Hello","senderURI":"kiicloud://admins/APP_ADMIN"}"#
        )
        #expect(message.kind == .directPush && message.certainty == .certain)
        #expect(message.classification.evidence == ["sourceURI", "senderURI"])
        #expect(message.sender == .admin("APP_ADMIN") && message.data["mymessage"] == .string("Hello"))
    }

    @Test("a group's topic with JSON in a string, over MQTT")
    func groupOverMQTT() throws {
        let message = try PushMessage(
            json: #"{"objectScopeGroupID":"kiicorp","objectScopeType":"APP_AND_GROUP","topic":"status","#
                + #""objectScopeAppID":"2cdc6549","value":"{\"message\":\"asdf\"}","when":1478324740503}"#)
        #expect(message.topic == KiiTopic(scope: .group(KiiGroup(id: "kiicorp")), name: "status"))
        #expect(message.data["value"]?["message"] == .string("asdf"))
    }
}
