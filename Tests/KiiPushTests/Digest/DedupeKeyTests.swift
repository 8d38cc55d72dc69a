import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct DedupeKeyTests {
    static let scopes: [KiiScope] = [
        .app, .user(KiiUser(id: "U-1")), .group(KiiGroup(id: "G-1")), .thing(KiiThing(id: "th.1")),
    ]

    private func keys(_ payload: RawPayload, app: String? = nil) throws -> DedupeKeys {
        try PushMessage(payload).dedupeKeys(app: app, secret: .published)
    }

    private func keys(
        _ json: String, _ transport: Transport? = nil, id: String? = nil, app: String? = nil
    ) throws -> DedupeKeys {
        try keys(RawPayload(json, transport: transport, transportMessageID: id), app: app)
    }

    /// What a payload is wrapped in: FCM's own message objects, and JPush's extras.
    static let wrappings: [@Sendable (String) -> (String, Transport)] = [
        { ($0, .fcm) }, { ("{\"data\":\($0)}", .fcm) }, { ("{\"message\":{\"data\":\($0),\"token\":\"t\"}}", .fcm) },
        { ($0, .jpush) }, { ("{\"cn.jpush.android.EXTRA\":\($0.quotedAsJSON)}", .jpush) },
        {
            let id = #""cn.jpush.android.MSG_ID":"17""#
            return ("{\(id),\"cn.jpush.android.MESSAGE\":\($0.quotedAsJSON)}", .jpush)
        },
    ]

    @Test(
        "an event and a topic message have one key over APNs, FCM, JPush and MQTT, however the network wraps them",
        arguments: scopes)
    func overTransports(scope: KiiScope) throws {
        let data: [(String, DataValue)] = [("n", .number("10.50")), ("yes", .bool(true)), ("text", .string("é\"\n"))]
        for fixture in [PayloadFixture.pushToApp(scope: scope), .pushToUser(scope: scope, data: data)] {
            let plain = try keys(fixture.payload(.long))
            #expect(plain.strength == .strong && (plain.secondary != nil) == (fixture.fields[.bucketID] != nil))
            let apns = try keys(fixture.payload(.short))
            #expect(apns.strength == .strong && apns.primary == plain.primary)
            #expect(apns.secondary == nil, "APNs never says when an object was modified")
            for wrap in Self.wrappings {
                for style in [PayloadFixture.KeyStyle.long, .strings] {
                    let (json, transport) = wrap(fixture.json(style))
                    #expect(try keys(json, transport) == plain, "\(transport) \(json)")
                }
            }
        }
    }

    @Test("the order of members, and numbers in quotes, do not change the key")
    func memberOrder() throws {
        let members = [
            #""topic":"t""#, #""objectScopeType":"APP""#, #""when":17"#, #""sender":"u""#, #""n":1"#, #""b":false"#,
            #""o":"x""#,
        ]
        let strings = members.map { $0.replacing("17", with: "\"17\"").replacing(":1", with: ":\"1\"") }
            .map { $0.replacing("false", with: "\"false\"").replacing("\"\"", with: "\"") }
        let plain = try keys("{\(members.joined(separator: ","))}", .mqtt)
        #expect(plain.strength == .strong)
        for list in [members, strings] {
            for shift in list.indices {
                let turned = list[shift...] + list[..<shift]
                #expect(try keys("{\(turned.joined(separator: ","))}", .mqtt) == plain, "\(turned)")
                #expect(try keys("{\(turned.reversed().joined(separator: ","))}", .mqtt) == plain, "\(turned)")
            }
        }
    }

    @Test("an event with both times has one key for each")
    func twoTimes() throws {
        let both = try keys(PayloadFixture.pushToApp(sentAt: 100, modifiedAt: 50).payload(.long))
        let pushed = try keys(PayloadFixture.pushToApp(sentAt: 100, modifiedAt: nil).payload(.long))
        #expect(pushed.primary == both.primary)
        #expect(pushed.secondary == nil)

        var fixture = PayloadFixture.pushToApp(sentAt: 100, modifiedAt: 50)
        fixture.fields[.when] = nil
        let modified = try keys(fixture.payload(.long))
        #expect(modified.primary == both.secondary)
        #expect(modified.secondary == nil)
        #expect(modified.strength == .strong)

        // The same number in another place is another time.
        let swapped = try keys(PayloadFixture.pushToApp(sentAt: 50, modifiedAt: 100).payload(.long))
        #expect(Set([both.primary, both.secondary, swapped.primary, swapped.secondary]).count == 4)
    }

    static let events: [PayloadFixture] =
        scopes.map { PayloadFixture.pushToApp(scope: $0) } + [
            .pushToApp(scope: .user(KiiUser(id: "U-2"))), .pushToApp(scope: .group(KiiGroup(id: "U-1"))),
            .pushToApp(bucket: "other"), .pushToApp(object: "o-2"), .pushToApp(object: nil),
            .pushToApp(event: .objectCreated), .pushToApp(sentAt: 1_700_000_000_034), .pushToApp(app: "ffff0000"),
            .pushToApp(bucket: "o-1", object: "settings"),
        ]
    static let topicMessages: [PayloadFixture] =
        scopes.map { PayloadFixture.pushToUser(scope: $0) } + [
            .pushToUser(scope: .user(KiiUser(id: "U-2"))), .pushToUser(topic: "other"), .pushToUser(sender: "U-2"),
            .pushToUser(sender: nil), .pushToUser(sentAt: 1), .pushToUser(app: "ffff0000"), .pushToUser(data: []),
            .pushToUser(data: [("text", .string("hallo"))]), .pushToUser(data: [("txt", .string("hello"))]),
            .pushToUser(data: [("text", .string("hello")), ("more", .string(""))]),
        ]

    @Test(
        "whatever names a message changes its key, and so does the secret", arguments: PayloadFixture.KeyStyle.allCases)
    func others(style: PayloadFixture.KeyStyle) throws {
        for fixtures in [Self.events, Self.topicMessages] {
            let primaries = try fixtures.map { try keys($0.payload(style)).primary }
            #expect(Set(primaries).count == fixtures.count)
            let message = try PushMessage(fixtures[0].payload(style))
            #expect(message.dedupeKeys(secret: DedupeSecret(1, 2)).primary != primaries[0])
        }
    }

    @Test("sender, bucket type and the sender's own keys do not change an event's key")
    func sameEvent() throws {
        let plain = try keys(PayloadFixture.pushToApp().payload(.long))
        var other = PayloadFixture.pushToApp(sender: nil)
        other.fields[.bucketType] = "SYNC"
        other.data = [("extra", .string("1"))]
        #expect(try keys(other.payload(.long)) == plain)
    }

    @Test("values from a source URI count like values from keys")
    func filledIn() throws {
        let spelled = PayloadFixture.pushToApp(scope: .user(KiiUser(id: "U-1")))
        var short = PayloadFixture()
        for field in [KiiField.origin, .type, .when, .objectModifiedAt, .appID, .scopeAppID] {
            short.fields[field] = spelled.fields[field]
        }
        short.fields[.sourceURI] = "kiicloud://users/U-1/buckets/settings/objects/o-1"
        #expect(try keys(short.payload(.long)) == keys(spelled.payload(.long)))
    }

    @Test("a missing app counts as the receiver's", arguments: [PushKind.pushToApp, .pushToUser])
    func receiversApp(kind: PushKind) throws {
        let named = kind == .pushToApp ? PayloadFixture.pushToApp() : .pushToUser()
        var nameless = named
        nameless.fields[.scopeAppID] = nil
        nameless.fields[.appID] = nil
        let expected = try keys(named.payload(.long))
        #expect(try keys(nameless.payload(.long), app: "0123abcd") == expected)
        #expect(try keys(named.payload(.long), app: "ffff0000") == expected, "what the payload says comes first")
        #expect(try keys(nameless.payload(.long), app: "ffff0000") != expected)
        #expect(try keys(nameless.payload(.long)) != expected)
    }

    @Test("an event without a bucket or a time, and a topic message without a time, have no strong key")
    func missingParts() throws {
        var (noBucket, noTime) = (PayloadFixture.pushToApp(), PayloadFixture.pushToApp())
        noBucket.fields[.bucketID] = nil
        for field in [KiiField.when, .objectModifiedAt] { noTime.fields[field] = nil }
        for fixture in [noBucket, noTime, .pushToUser(sentAt: nil)] {
            var payload = fixture.payload(.long)
            #expect(try keys(payload).strength == .weak)
            payload.transportMessageID = "m-1"
            #expect(try keys(payload).strength == .strong)
            #expect(try keys(payload) == keys("{}", .mqtt, id: "m-1"))
        }
    }

    @Test("network fields and this SDK's stamp do not change a topic message's key")
    func addedToTopic() throws {
        let plain = PayloadFixture.pushToUser()
        var added = plain
        added.data += [
            ("from", .string("761")), ("collapse_key", .string("news")), ("google.sent_time", .number("1")),
            ("gcm.n.e", .string("1")), ("_kl", .string("1;1;x")),
        ]
        #expect(try keys(added.payload(.strings)) == keys(plain.payload(.strings)))
        added.data += [("fromage", .string("761"))]
        #expect(try keys(added.payload(.strings)) != keys(plain.payload(.strings)))
    }

    // MARK: A transport's own id

    @Test("a Direct Push is identified by its transport's id alone")
    func transportID() throws {
        let one = try keys(#"{"a":"1"}"#, .fcm, id: "m-1")
        #expect(one.strength == .strong)
        #expect(one.secondary == nil)
        #expect(try keys(#"{"b":"2"}"#, .fcm, id: "m-1") == one)
        #expect(try keys(#"{"a":"1"}"#, .fcm, id: "m-2") != one)
        #expect(try keys(#"{"a":"1"}"#, .jpush, id: "m-1") != one, "ids of two transports are not the same")
        #expect(try keys(#"{"a":"1"}"#, nil, id: "m-1").strength == .weak, "an id of no transport is no id")
        #expect(try keys(#"{"a":"1"}"#, .fcm).strength == .weak)
        #expect(try keys(#"{"a":"1"}"#, .fcm, id: "").strength == .weak, "an empty id would make all messages one")
    }

    @Test("finds FCM's id at the root, in data, and around the message", arguments: [nil, Transport.fcm, "radio"])
    func fcmID(_ transport: Transport?) throws {
        let id = #""google.message_id":"0:17%a""#
        let one = try keys(#"{"text":"same",\#(id)}"#, transport)
        #expect(one.strength == .strong && one.secondary == nil)
        #expect(try one == keys("{}", .fcm, id: "0:17%a"), "as if FCM had handed it over")
        #expect(try one != keys(#"{"text":"same","google.message_id":"0:18%a"}"#, transport))
        #expect(try one == keys(#"{"text":"same","google\u002emessage_id":"0\u003a17%a"}"#, transport))
        #expect(try keys("{\"data\":{\"text\":\"same\",\(id)}}", .fcm) == one)
        #expect(try keys("{\(id),\"data\":{\"text\":\"same\"}}", .fcm) == one)
        #expect(try keys("{\(id),\"dialog_id\":\"d\"}", transport) == one, "QuickBlox pushes come over FCM too")
        #expect(try keys("{\(id)}", .quickblox) == one)
        // What names the message better comes first.
        #expect(try keys("{\(id)}", .fcm, id: "m-1") == keys("{}", .fcm, id: "m-1"))
        let event = #"{"bucketID":"b","objectScopeType":"APP","when":"17""#
        #expect(try keys("\(event),\(id)}", transport) == keys("\(event)}", .mqtt))
    }

    @Test(
        "a value that is not an FCM id identifies nothing",
        arguments: [
            (#"{"google.message_id":""}"#, Transport.fcm), (#"{"google.message_id":" "}"#, .fcm),
            (#"{"google.message_id":null}"#, .fcm), (#"{"google.message_id":["0:1"]}"#, .fcm),
            (#"{"google.message_ID":"0:1"}"#, .fcm), (#"{"x":{"google.message_id":"0:1"}}"#, .fcm),
            // FCM did not bring these.
            (#"{"google.message_id":"0:1"}"#, .mqtt), (#"{"google.message_id":"0:1"}"#, .apns),
            (#"{"google.message_id":"0:1"}"#, .jpush), (#"{"aps":{},"google.message_id":"0:1"}"#, "radio"),
        ])
    func noFCMID(json: String, transport: Transport) throws {
        #expect(try keys(json, transport).strength == .weak)
    }

    @Test("both event names of a body change give the same key")
    func twoNames() throws {
        let fixture = PayloadFixture.pushToApp(event: .objectBodyUpdated)
        let other = PayloadFixture.pushToApp(event: "DATA_OBJECT_BODY_UPDATE")
        #expect(try keys(fixture.payload(.short)).primary == keys(other.payload(.long)).primary)
        #expect(try keys(PayloadFixture.pushToApp().payload(.long)) != keys(fixture.payload(.long)))
    }

    @Test("content keys precede the transport's id, so that a redelivery under another id is found")
    func eventBeforeID() throws {
        for fixture in [PayloadFixture.pushToApp(), .pushToUser()] {
            var payload = fixture.payload(.long)
            let without = try keys(payload)
            payload.transportMessageID = "m-1"
            #expect(try keys(payload) == without)
        }
    }

    // MARK: Ambiguous messages

    @Test("an ambiguous message has a weak key, so that it cannot hide another")
    func ambiguous() throws {
        let honest = PayloadFixture.pushToApp(sentAt: 100)
        var imitation = honest
        imitation.fields[.topic] = "news"
        let message = try PushMessage(imitation.payload(.long))
        try #require(message.certainty == .ambiguous)
        let found = message.dedupeKeys(secret: .published)
        #expect(found.strength == .weak)
        #expect(found.secondary == nil)
        #expect(try found.primary != keys(honest.payload(.long)).primary)

        var withID = imitation.payload(.long)
        withID.transportMessageID = "m-1"
        #expect(try keys(withID) == found, "not even by a transport's id")
    }
}
