import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct JPushEnvelopeTests {
    /// A Push to App as JPush's demo has it: long keys.
    private static let push =
        #"{"origin":"EVENT","objectScopeType":"APP","type":"DATA_OBJECT_CREATED","bucketID":"b","objectID":"o"}"#

    /// The extras of a push: its `members`, and what JPush adds.
    private static func extras(_ members: String...) -> String {
        let added = [#""cn.jpush.android.APPKEY":"k""#, #""cn.jpush.android.TITLE":"t""#]
        return "{" + (members + added).joined(separator: ",") + "}"
    }

    private static func message(_ inner: String) -> String {
        #""cn.jpush.android.MESSAGE":"# + inner.quotedAsJSON
    }
    private static func extra(_ inner: String) -> String { #""cn.jpush.android.EXTRA":"# + inner.quotedAsJSON }

    private static let flat = push.dropFirst().dropLast()

    private static let shapes = [
        extras(String(flat)), extras(message(push)), extras(extra(push)),
        // The message comes before the extra.
        extras(message(push), extra(#"{"topic":"t"}"#)), extras(extra(#"{"topic":"t"}"#), message(push)),
        // A broken message, or one that is no object, leaves it to the extra, and that to the extras themselves.
        extras(message("Hello"), extra(push)), extras(message(push + "x"), extra(push)),
        extras(message("[\(push)]"), extra(push)), extras(message(""), extra(push)),
        extras(#""cn.jpush.android.MESSAGE":1"#, extra(push)),
        extras(#""cn.jpush.android.MESSAGE":\#(push)"#, extra(push)),
        extras(message("Hello"), extra("none"), String(flat)), extras(message(#"{"a":1,"a"}"#), String(flat)),
        // However the two layers are escaped.
        extras(message(push.replacing("EVENT", with: #"\u0045VENT"#).replacing("\"b\"", with: #""\u0062""#))),
        extras(#""cn.jpush.andr\u006fid.MESSAGE":\#(push.quotedAsJSON)"#),
        extras(#""cn.jpush.android.MESSAGE":"\u007b\#(push.quotedAsJSON.dropFirst(2))"#),
    ]

    @Test("a push is found in every shape that JPush hands over", arguments: shapes, [nil, Transport.jpush, "radio"])
    func opened(payload: String, transport: Transport?) throws {
        let message = try PushMessage(json: payload, over: transport)
        #expect(message.kind == .pushToApp && message.certainty == .certain && message.dialect == .jpush)
        #expect(message.classification.evidence == ["origin", "bucketID"])
        #expect(message.object == KiiObject(bucket: KiiBucket(scope: .app, name: "b", type: nil), id: "o"))
        #expect(message.event == .objectCreated)
        #expect(message.data.isEmpty, "what JPush adds is nobody's data")
        #expect(message.raw.bytes == Array(payload.utf8), "the payload as received stays")
    }

    @Test(
        "refuses a wrapped object with a duplicate key, in a message or an extra",
        arguments: [nil, Transport.jpush])
    func keyTwice(_ transport: Transport?) throws {
        let doubled = [
            #"{"bucketID":"b","bucketID":"c"}"#, #"{"a":1,"\u0061":2}"#, #" {"topic":"t","x":1,"x":1}"#,
        ]
        for inner in doubled {
            let whole = [
                Self.extras(Self.message(inner)), Self.extras(Self.extra(inner)),
                Self.extras(Self.message(inner), Self.extra(Self.push)),
                Self.extras(Self.message("Hi"), Self.extra(inner)), Self.extras(Self.message(inner), String(Self.flat)),
            ]
            for payload in whole {
                let error = #expect(throws: DecodeError.self) { try PushMessage(json: payload, over: transport) }
                #expect(error?.code == .duplicateKey, "\(payload)")
                let part = payload.utf8.dropFirst(error?.offset ?? 0).prefix(2)
                #expect(String(part) == #"{\"# || String(part) == " {", "the place is where the text begins")
                #expect(error?.detail.hasPrefix("in cn.jpush.android.") == true)
            }
        }
        // One that nobody reads, and what is nested, may have a key twice.
        let unread = Self.extras(Self.message(Self.push), Self.extra(doubled[0]))
        #expect(try PushMessage(json: unread, over: transport).kind == .pushToApp)
        let nested = #"{"bucketID":"b","x":{"y":1,"y":2}}"#
        #expect(try PushMessage(json: Self.extras(Self.message(nested)), over: transport).kind == .pushToApp)
    }

    @Test("refuses a wrapped object beyond the limits, and passes text that is no object")
    func limits() {
        func code(_ inner: String) -> DecodeError.Code? {
            let payload = RawPayload(Self.extras(Self.message(inner)), transport: .jpush)
            do {
                _ = try PushMessage(payload, limits: PayloadLimits(bytes: 1000, depth: 3, members: 6))
                return nil
            } catch {
                return error.code
            }
        }
        #expect(code(#"{"bucketID":"b","x":[[[1]]]}"#) == .limitExceeded)
        #expect(code(#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1}"#) == .limitExceeded)
        #expect(code("[[[[1]]]]") == nil)
        #expect(code("{{{{{") == nil)
    }

    @Test("extras beside an opened message are not part of the push")
    func neighbours() throws {
        let payload = Self.extras(Self.message(#"{"topic":"t","mine":1}"#), #""bucketID":"b""#, #""theirs":2"#)
        let message = try PushMessage(json: payload)
        #expect(message.kind == .pushToUser && message[.bucketID] == nil && message.data.keys == ["mine"])
    }

    @Test("over JPush a payload without JPush's keys is read flat")
    func withoutItsKeys() throws {
        let message = try PushMessage(json: #"{"bucketID":"b","x":1}"#, over: .jpush)
        #expect(message.dialect == .jpush && message.kind == .pushToApp && message.data.keys == ["x"])
        // Long keys, even beside an aps.
        let beside = try PushMessage(json: #"{"aps":{},"bi":"b","topic":"t"}"#, over: .jpush)
        #expect(beside.kind == .pushToUser && beside.data.keys == ["bi"])
    }

    @Test(
        "over another transport, only leaves out JPush's keys",
        arguments: [Transport.mqtt, .fcm, .apns, .quickblox])
    func anotherTransport(_ transport: Transport) throws {
        let message = try PushMessage(json: Self.extras(Self.message(Self.push), #""x":1"#), over: transport)
        #expect(message.kind == .directPush && message.data.keys == ["x"])
    }

    @Test(
        "similar keys wrap nothing",
        arguments: [
            "cn.jpush.android", "cn.jpush.androidX.MESSAGE", "CN.JPUSH.ANDROID.MESSAGE", "cn.jpush.ios.MESSAGE",
        ])
    func lookAlikes(key: String) throws {
        let message = try PushMessage(json: "{\"\(key)\":\(Self.push.quotedAsJSON)}")
        #expect(message.dialect == .long && message.kind == .directPush && message.data.keys == [key])
    }

    // MARK: Its message id

    private func keys(_ json: String, _ transport: Transport? = nil, id: String? = nil) throws -> DedupeKeys {
        try PushMessage(RawPayload(json, transport: transport, transportMessageID: id)).dedupeKeys(secret: .published)
    }

    private static func id(_ value: String) -> String { #""cn.jpush.android.MSG_ID":"# + value }

    @Test("JPush's message id is the transport's", arguments: [#""71""#, "71", #""\u00371""#])
    func messageID(value: String) throws {
        let found = try keys(Self.extras(Self.id(value), Self.message(#"{"x":1}"#)))
        #expect(found.strength == .strong)
        #expect(try found == keys(#"{"y":2}"#, .jpush, id: "71"))
        #expect(try found == keys(Self.extras(Self.id(value), #""z":3"#), .jpush), "flat extras have it too")
        #expect(try found != keys(Self.extras(Self.id("72"), Self.message(#"{"x":1}"#))))
    }

    @Test("an empty id counts as missing", arguments: [#""""#, "null", "true", "{}", "[1]"])
    func noMessageID(value: String) throws {
        let found = try keys(Self.extras(Self.id(value), #""x":1"#))
        #expect(found.strength == .weak)
        #expect(try found == keys(#"{"x":1}"#), "what JPush adds is not in the digest")
    }

    @Test("the transport's own id comes first, and needs a transport")
    func handedOver() throws {
        let payload = Self.extras(Self.id("71"), #""x":1"#)
        #expect(try keys(payload, .jpush, id: "9") == keys(#"{"x":1}"#, .jpush, id: "9"))
        #expect(try keys(payload, nil, id: "9") == keys(#"{"x":1}"#, .jpush, id: "71"))
        #expect(try keys(payload, .jpush, id: "") == keys(#"{"x":1}"#, .jpush, id: "71"))
    }
}
