import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct KiiEventTests {
    @Test(
        "the documented events have their names",
        arguments: [
            (KiiEvent.objectCreated, "DATA_OBJECT_CREATED"), (.objectUpdated, "DATA_OBJECT_UPDATED"),
            (.objectDeleted, "DATA_OBJECT_DELETED"),
            (.objectBodyUpdated, "DATA_OBJECT_BODY_UPDATED"), (.objectBodyDeleted, "DATA_OBJECT_BODY_DELETED"),
            (.objectACLModified, "DATA_OBJECT_ACL_MODIFIED"), (.bucketDeleted, "BUCKET_DELETED"),
        ])
    func names(_ event: KiiEvent, _ name: String) throws {
        #expect(event.name == name && event.description == name && event == KiiEvent(name))
        #expect(try PushMessage(json: "{\"bucketID\":\"b\",\"type\":\"\(name)\"}").event == event)
        #expect(try PushMessage(json: "{\"aps\":{},\"bi\":\"b\",\"t\":\"\(name)\"}").event == event)
    }

    @Test("compares events exactly, and accepts any text")
    func open() throws {
        #expect(KiiEvent("data_object_created") != .objectCreated && KiiEvent("DATA_OBJECT_CREATED ") != .objectCreated)
        #expect(try PushMessage(json: #"{"topic":"t","type":"my own"}"#).event == "my own")
        #expect(try PushMessage(json: #"{"topic":"t","type":""}"#).event == nil)
    }

    @Test("both names of a body update are equal, and keep their text")
    func bodyUpdated() throws {
        let other = try #require(
            try PushMessage(json: #"{"bucketID":"b","type":"DATA_OBJECT_BODY_UPDATE"}"#).event)
        #expect(other == .objectBodyUpdated && other.name == "DATA_OBJECT_BODY_UPDATE" && "\(other)" == other.name)
        #expect(Set([other, .objectBodyUpdated]).count == 1)
        for name in [
            "DATA_OBJECT_BODY_UPDAT", "DATA_OBJECT_BODY_UPDATES", "data_object_body_update", "DATA_OBJECT_UPDATE",
        ] {
            #expect(KiiEvent(name) != .objectBodyUpdated && KiiEvent(name) != other)
        }
        #expect(KiiEvent("DATA_OBJECT_UPDATE") != .objectUpdated)
    }

    @Test("hashes events by their bytes")
    func inASet() {
        #expect(Set([KiiEvent.objectCreated, "DATA_OBJECT_CREATED", "\u{E9}", "e\u{301}"]).count == 3)
    }
}
