import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct FCMEnvelopeTests {
    /// A Push to App as FCM carries it: everything is a string.
    private static let push =
        #"{"appID":"1","bucketID":"b","bucketType":"rw","objectID":"o","objectScopeType":"APP_AND_USER","#
        + #""objectScopeUserID":"u","when":"1403844866395","modifiedAt":"17","mine":"25","on":"true","from":"2"}"#

    private static let shapes = [
        push, #"{"data":\#(push)}"#, #"{"message":{"data":\#(push)}}"#,
        #"{"from":"7","collapse_key":"b","data":\#(push),"messageId":"m","notification":{"title":"t"}}"#,
        #"{"message":{"token":"t","notification":{"title":"data"},"data":\#(push),"android":{}}}"#,
        #"{ "data" : \#(push.replacing(",", with: " ,\n")) }"#,
    ]

    @Test("a push is found flat, in data, and in a message's data", arguments: shapes, [nil, Transport.fcm, "radio"])
    func opened(payload: String, transport: Transport?) throws {
        let message = try PushMessage(json: payload, over: transport)
        #expect(message.kind == .pushToApp && message.certainty == .certain && message.dialect == .long)
        #expect(message.classification.evidence == ["bucketID", "bucketType"])
        #expect(message.object?.uri.description == "kiicloud://users/u/buckets/b/objects/o")
        #expect(message.sentAt == 1_403_844_866_395 && message.modifiedAt == 17 && message.appID == "1")
        // A sender's numbers and truths are strings here, and are read as what they are meant.
        #expect(message.data.keys == ["mine", "on"])
        #expect(message.data["mine"]?.integer == 25 && message.data["on"]?.bool == true)
        let flat = try PushMessage(json: Self.push, over: .fcm)
        #expect(message.dedupeKeys(secret: .published) == flat.dedupeKeys(secret: .published))
    }

    @Test("data is the payload over FCM, and without a transport only if it has Kii's long keys")
    func foreignData() throws {
        for data in [#"{"x":"1"}"#, #"{"t":"1","to":"me"}"#, #"{"aps":{},"x":"b"}"#, "{}"] {
            let stated = try PushMessage(json: #"{"data":\#(data)}"#, over: .fcm)
            #expect(stated.kind == .directPush && stated.data["data"] == nil, "\(data)")
            let unstated = try PushMessage(json: #"{"data":\#(data)}"#)
            #expect(unstated.kind == .directPush && unstated.data.keys == ["data"], "\(data)")
        }
    }

    @Test(
        "does not unwrap if the root has Kii's keys",
        arguments: [
            #"{"topic":"t","data":{"bucketID":"b"}}"#, #"{"data":{"bucketID":"b"},"objectScopeType":"APP"}"#,
            #"{"aps":{},"data":{"bucketID":"b"}}"#, #"{"sender":"u","message":{"data":{"bucketID":"b"}}}"#,
        ], [nil, Transport.fcm])
    func rootFirst(payload: String, transport: Transport?) throws {
        let message = try PushMessage(json: payload, over: transport)
        #expect(message.kind != .pushToApp && message[.bucketID] == nil)
        #expect(message.data["data"] != nil || message.data["message"] != nil)
    }

    @Test("does not unwrap over another transport", arguments: [Transport.mqtt, .apns, .jpush, .quickblox])
    func anotherTransport(_ transport: Transport) throws {
        for payload in [#"{"data":{"bucketID":"b"}}"#, #"{"message":{"data":{"bucketID":"b"}}}"#] {
            let message = try PushMessage(json: payload, over: transport)
            #expect(message.kind == .directPush && message.data.keys.count == 1)
        }
    }

    @Test("refuses a duplicate key at its second place, wrapped or not")
    func keyTwice() throws {
        let doubled = #"{"bucketID":"b","x":{"y":1,"y":2},"bucketID":"c"}"#
        let shapes = [doubled, #"{"data":\#(doubled)}"#, #"{"token":"t","message": {"n":1,"data": \#(doubled)}}"#]
        for payload in shapes {
            let second = try #require(payload.firstRange(of: #""bucketID":"c""#)?.lowerBound)
            let offset = payload.utf8.distance(from: payload.startIndex, to: second)
            for transport in [nil, Transport.fcm] {
                let error = #expect(throws: DecodeError.self) { try PushMessage(json: payload, over: transport) }
                #expect(error?.code == .duplicateKey && error?.offset == offset, "\(payload)")
            }
        }
        // Without a stated transport and without Kii's keys it is a sender's data; over FCM it is the payload.
        let foreign = #"{"data":{"x":1,"x":2}}"#
        #expect(try PushMessage(json: foreign).data.keys == ["data"])
        let error = #expect(throws: DecodeError.self) { try PushMessage(json: foreign, over: .fcm) }
        #expect(error?.code == .duplicateKey && error?.detail.hasPrefix("in data: ") == true)
        // What is nested in it may have a key twice, as everywhere.
        let nested = #"{"data":{"bucketID":"b","x":{"y":1,"y":2}}}"#
        #expect(try PushMessage(json: nested, over: .fcm).kind == .pushToApp)
    }

    @Test(
        "a value that is not an object is data",
        arguments: [
            #""text""#, "1", "null", #"["bucketID"]"#, #""{\"bucketID\":\"b\"}""#,
            // Of a duplicate nested key the first counts.
            #""text","data":{"bucketID":"b"}"#,
        ])
    func notAnObject(data: String) throws {
        for payload in [#"{"message":{"data":\#(data)}}"#, #"{"x":1,"message":{"y":1,"data":\#(data)}}"#] {
            let message = try PushMessage(json: payload, over: .fcm)
            #expect(message.kind == .directPush && message.data["message"] != nil, "\(payload)")
        }
        guard !data.contains("data") else { return }
        for payload in [#"{"data":\#(data)}"#, #"{"message":\#(data)}"#] {
            let message = try PushMessage(json: payload, over: .fcm)
            #expect(message.kind == .directPush && message.data.keys.count == 1, "\(payload)")
        }
    }

    @Test("data comes before a message's data, and deeper levels are not unwrapped")
    func order() throws {
        let both = #"{"message":{"data":{"topic":"t"}},"data":{"bucketID":"b"}}"#
        #expect(try PushMessage(json: both).kind == .pushToApp)
        let deep = #"{"message":{"message":{"data":{"bucketID":"b"}}}}"#
        #expect(try PushMessage(json: deep, over: .fcm).kind == .directPush)
        // Keys compare unescaped, here as everywhere.
        let escaped = #"{"mess\u0061ge":{"d\u0061ta":{"bucketID":"b"}}}"#
        #expect(try PushMessage(json: escaped).kind == .pushToApp)
        #expect(try PushMessage(json: #"{"d\u0061ta":{"bucketID":"b"}}"#).kind == .pushToApp)
    }
}
