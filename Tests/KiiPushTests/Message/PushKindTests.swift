import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct PushKindTests {
    @Test("kinds have Kii's names for people, and their own for programs")
    func kinds() {
        #expect(PushKind.allCases.map(\.description) == ["Push to App", "Push to User", "Direct Push"])
        #expect(PushKind.allCases.map(\.rawValue) == ["pushToApp", "pushToUser", "directPush"])
        #expect(Certainty.allCases.map(\.rawValue) == ["certain", "likely", "ambiguous"])
    }

    @Test("a view of a kind shows the message's own")
    func views() throws {
        let message = try PushMessage(
            json:
                #"{"origin":"EVENT","type":"DATA_OBJECT_DELETED","bucketID":"b","objectID":"o","objectScopeType":"APP","sender":"U"}"#
        )
        let app = try #require(PushToAppMessage(message))
        #expect(
            app.type == .objectDeleted && app.bucket == message.bucket && app.object == message.object
                && app.sender == .user(id: "U"))
        let bucket = try #require(BucketEvent(message))
        #expect(bucket.type == .objectDeleted && bucket.object == message.object && bucket.sender == .user(id: "U"))
        let object = try #require(ObjectEvent(message))
        #expect(object.type == .objectDeleted && object.object == message.object && object.sender == .user(id: "U"))
        let user = try #require(
            PushToUserMessage(try PushMessage(json: #"{"topic":"t","objectScopeType":"APP","sender":"th.1","k":"v"}"#)))
        #expect(user.topic?.name == "t" && user.sender == .thing(id: "th.1") && user.data["k"] == .string("v"))
        let topic = try #require(TopicMessage(user.message))
        #expect(
            topic.topic.name == "t" && topic.scope == .app && topic.sender == .thing(id: "th.1")
                && topic.data.keys == ["k"])
        let direct = try #require(
            DirectPushMessage(try PushMessage(json: #"{"senderURI":"kiicloud://admins/A","k":"v"}"#)))
        #expect(direct.sender == .admin("A") && direct.data.keys == ["k"])
    }
}
