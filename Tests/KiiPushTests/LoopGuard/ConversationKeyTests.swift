import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

/// Which messages share a pace when they have no object, and no topic with a sender.
struct ConversationKeyTests {
    /// Two messages, and whether they share one.
    struct Pair: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let first: RawPayload
        let second: RawPayload
        let isShared: Bool

        init(_ name: String, _ first: RawPayload, _ second: RawPayload, _ isShared: Bool) {
            (testDescription, self.first, self.second, self.isShared) = (name, first, second, isShared)
        }

        init(_ name: String, _ first: PayloadFixture, _ second: PayloadFixture, _ isShared: Bool) {
            self.init(name, first.payload(.long), second.payload(.long), isShared)
        }
    }

    // MARK: Commands

    /// A command by alias; without an issuer where there is none.
    private static func command(
        _ id: String, _ action: String = "setBrightness", _ value: Int = 1, alias: String = "Lamp",
        issuer: String? = "user:U-1"
    ) -> RawPayload {
        let issuer = issuer.map { #","issuer":"\#($0)""# } ?? ""
        return RawPayload(
            #"{"commandID":"\#(id)","actions":[{"\#(alias)":[{"\#(action)":\#(value)}]}]\#(issuer)}"#, transport: .mqtt)
    }

    private static let byName = RawPayload(
        #"{"schema":"s","schemaVersion":1,"commandID":"c","actions":[{"setBrightness":1}],"issuer":"user:U-1"}"#,
        transport: .mqtt)

    static let commands: [Pair] = [
        Pair("a slider's commands", command("c-1"), command("c-2", "setBrightness", 2), true),
        Pair("a slider's, no issuer", command("1", issuer: nil), command("2", issuer: nil), true),
        Pair("another control", command("c-1"), command("c-2", "turnPower"), false),
        Pair("another part of the thing", command("c-1"), command("c-2", alias: "Fan"), false),
        Pair("the same name without an alias", command("c-1"), byName, false),
        Pair("another user", command("c-1"), command("c-2", issuer: "user:U-2"), false),
        Pair("an issuer and none", command("c-1"), command("c-2", issuer: nil), false),
        Pair("a command and a Direct Push", command("c-1", issuer: nil), direct(#""text":"x""#), false),
    ]

    // MARK: QuickBlox

    private static func quickBlox(_ members: String) -> RawPayload {
        RawPayload(#"{"message":"hi",\#(members)}"#, transport: .quickblox)
    }

    private static func call(_ session: String, from caller: String) -> RawPayload {
        quickBlox(#""VOIPCall":"1","sessionID":"\#(session)","opponentsIDs":"\#(caller),7","conferenceType":"1""#)
    }

    static let chats: [Pair] = [
        Pair(
            "one chat, two users", quickBlox(#""dialog_id":"d-1","user_id":1"#),
            quickBlox(#""dialog_id":"d-1","user_id":2"#), true),
        Pair(
            "two chats, one user", quickBlox(#""dialog_id":"d-1","user_id":1"#),
            quickBlox(#""dialog_id":"d-2","user_id":1"#), false),
        Pair("one user", quickBlox(#""user_id":1"#), quickBlox(#""user_id":"1","x":1"#), true),
        Pair("two users", quickBlox(#""user_id":1"#), quickBlox(#""user_id":2"#), false),
        Pair("a user with a chat's id", quickBlox(#""user_id":"d""#), quickBlox(#""dialog_id":"d""#), false),
        Pair("one caller, two calls", call("s-1", from: "5"), call("s-2", from: "5"), true),
        Pair("two callers", call("s-1", from: "5"), call("s-2", from: "6"), false),
        Pair("nobody's", quickBlox(#""x":1"#), quickBlox(#""x":2"#), true),
    ]

    // MARK: Topics and buckets

    private static func news(_ data: [(key: String, value: DataValue)], type: String? = nil, topic: String = "news")
        -> PayloadFixture
    {
        var fixture = PayloadFixture.pushToUser(topic: topic, sender: nil, data: data)
        fixture.fields[.type] = type
        return fixture
    }

    private static func event(_ event: KiiEvent = .bucketDeleted, bucket: String = "b", sender: String? = nil)
        -> PayloadFixture
    {
        .pushToApp(bucket: bucket, object: nil, event: event, sender: sender)
    }

    static let places: [Pair] = [
        Pair("a topic, other values", news([("a", .number("1"))]), news([("a", .string("x"))]), true),
        Pair(
            "a topic, names in another order", news([("a", .null), ("b", .null)]), news([("b", .null), ("a", .null)]),
            true),
        Pair("a topic, other names", news([("a", .null)]), news([("b", .null)]), false),
        Pair("a topic, one name more", news([("a", .null)]), news([("a", .null), ("b", .null)]), false),
        Pair("a topic, other types", news([], type: "x"), news([], type: "y"), false),
        Pair("two topics", news([]), news([], topic: "other"), false),
        Pair("a topic's message with a sender and one without", .pushToUser(), news([]), false),
        Pair("a bucket's events", event(), event(), true),
        Pair("a bucket's events of one sender", event(sender: "U-1"), event(sender: "U-1"), true),
        Pair("a bucket's events of two senders", event(sender: "U-1"), event(sender: "U-2"), false),
        Pair("two kinds of events of a bucket", event(), event(.objectUpdated), false),
        Pair("two buckets", event(), event(bucket: "c"), false),
        Pair(
            "one object without its scope's id", unscoped(#""objectID":"o","type":"x""#),
            unscoped(#""objectID":"o","type":"y""#), true),
        Pair("two objects without", unscoped(#""objectID":"o""#), unscoped(#""objectID":"p""#), false),
    ]

    /// An event in a user's bucket that does not say which user's.
    private static func unscoped(_ members: String) -> RawPayload {
        RawPayload(#"{"bucketID":"b","objectScopeType":"APP_AND_USER",\#(members)}"#, transport: .mqtt)
    }

    // MARK: Direct Push

    private static func direct(_ members: String, sender: String? = nil) -> RawPayload {
        let sender = sender.map { #","senderURI":"kiicloud://admins/\#($0)""# } ?? ""
        return RawPayload("{\(members)\(sender)}", transport: .mqtt)
    }

    static let pushes: [Pair] = [
        Pair("other values", direct(#""text":"x","n":1"#), direct(#""n":2,"text":"y""#), true),
        Pair("other names", direct(#""text":"x""#), direct(#""alarm":"x""#), false),
        Pair("other types", direct(#""text":"x","type":"a""#), direct(#""text":"x","type":"b""#), false),
        Pair("a name in escapes", direct(#""text":"x""#), direct(#""te\u0078t":"y""#), true),
        Pair("two senders", direct("\"t\":1", sender: "A"), direct("\"t\":1", sender: "B"), false),
        Pair("a sender and none", direct("\"t\":1", sender: "A"), direct("\"t\":1"), false),
    ]

    @Test(
        "messages that a loop would repeat share a key, and others do not",
        arguments: commands + chats + places + pushes)
    func shared(pair: Pair) throws {
        let route = Route("r")
        let (first, second) = (try keys(pair.first, route), try keys(pair.second, route))
        #expect(first.level == .letters && second.level == .letters)
        #expect((first.id == second.id) == pair.isShared)
        // The deduplicator's digest, where there is one, gives the same keys.
        #expect(try keys(pair.first, route, withPlace: true).id == first.id)
        #expect(try keys(pair.first, Route("other")).id != first.id)
    }

    private func keys(_ payload: RawPayload, _ route: Route, withPlace: Bool = false) throws -> PaceKey {
        let message = try PushMessage(payload)
        let place = withPlace ? ResourceDigest(of: message.storage, .ofProcess) : nil
        return PaceKey(message, at: place, for: MatchedRoutes(only: route), slowest: route)
    }
}
