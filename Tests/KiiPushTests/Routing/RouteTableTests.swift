import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct RouteTableTests {
    private func route(
        _ id: String, _ flow: RouteFlow = .stop, _ change: (inout RouteCriteria) -> Void = { _ in }
    ) -> Route {
        var criteria = RouteCriteria()
        change(&criteria)
        return Route(id, flow: flow, criteria: criteria)
    }

    private func match(_ routes: [Route], _ fixture: PayloadFixture = .pushToApp()) throws -> RouteMatch {
        try RouteTable(routes).match(PushMessage(fixture.payload(.long)).storage)
    }

    private func ids(_ routes: [Route], _ fixture: PayloadFixture = .pushToApp()) throws -> [String] {
        try match(routes, fixture).routes.ids
    }

    // MARK: Order

    @Test("an empty table matches nothing")
    func empty() throws {
        let match = try match([])
        #expect(match.routes.isEmpty)
        #expect(!match.isTooAmbiguous)
    }

    @Test("the first route that takes a message keeps it, however special the others are")
    func firstMatch() throws {
        let special = route("special") { $0.bucket = "settings" }
        let general = route("general") { $0.kinds = KindSet(.pushToApp) }
        #expect(try ids([general, special]) == ["general"])
        #expect(try ids([special, general]) == ["special"])
    }

    @Test("after a route that continues the next ones are tried, up to the first that does not")
    func flows() throws {
        let routes = [
            route("a", .continue), route("b", .continue) { $0.bucket = "settings" },
            route("c", .continue) { $0.bucket = "other" }, route("d", .continue) { $0.object = "o-1" },
            route("e") { $0.sender = .user("U-sender") }, route("f"),
        ]
        #expect(try ids(routes) == ["a", "b", "d", "e"])
    }

    @Test("declaration order holds between routes that are found by different texts")
    func orderOverIndex() throws {
        let ways: [(inout RouteCriteria) -> Void] = [
            { $0.sender = .user("U-sender") }, { _ in }, { $0.bucket = ["x", "settings"] }, { $0.bucket = "set*" },
            { $0.object = "o-1" }, { $0.scope = .user("U-1") }, { $0.kinds = KindSet(.pushToApp) },
        ]
        let fixture = PayloadFixture.pushToApp(scope: .user(KiiUser(id: "U-1")))
        for turn in ways.indices {
            let turned = ways[turn...] + ways[..<turn]
            let routes = turned.enumerated().map { route("\($0.offset)", .continue, $0.element) }
            #expect(try ids(routes, fixture) == ways.indices.map(String.init))
        }
    }

    @Test("a route that lists one text twice takes a message once")
    func repeatedText() throws {
        let routes = [route("a", .continue) { $0.bucket = ["settings", "settings", "set*", .exactly("settings")] }]
        #expect(try ids(routes) == ["a"])
        #expect(try ids([route("a", .continue) { $0.bucket = ["settings", .exactly("settings")] }]) == ["a"])
    }

    // MARK: Conditions

    @Test("each condition matches exactly what it should")
    func conditions() throws {
        let table: [(name: String, (inout RouteCriteria) -> Void, takes: Bool)] = [
            ("kind", { $0.kinds = KindSet(.pushToApp) }, true),
            ("other kind", { $0.kinds = KindSet(.pushToUser) }, false), ("bucket", { $0.bucket = "settings" }, true),
            ("other bucket", { $0.bucket = "Settings" }, false), ("bucket *", { $0.bucket = "*" }, true),
            ("bucket s*s", { $0.bucket = "s*s" }, true), ("object", { $0.object = "o-1" }, true),
            ("other object", { $0.object = "o-2" }, false), ("topic", { $0.topic = "*" }, false),
            ("event", { $0.events = ["DATA_OBJECT_CREATED", "DATA_OBJECT_UPDATED"] }, true),
            ("other event", { $0.events = ["DATA_OBJECT_CREATED"] }, false), ("no event", { $0.events = [] }, false),
            ("scope", { $0.scope = [.app, .user()] }, true), ("other scope", { $0.scope = .user(nil) }, false),
            ("sender", { $0.sender = .user("U-*") }, true), ("other sender", { $0.sender = .thing() }, false),
            ("an empty list", { $0.bucket = [] }, false), ("an empty scope list", { $0.scope = [] }, false),
            ("all", { ($0.bucket, $0.object, $0.scope) = ("settings", "o-1", .app) }, true),
            ("all but one", { ($0.bucket, $0.object, $0.scope) = ("settings", "o-2", .app) }, false),
        ]
        for (name, change, takes) in table {
            #expect(try ids([route("r", .stop, change)]).isEmpty == !takes, "\(name)")
        }
    }

    @Test("a star requires a value")
    func wildcardNeedsValue() throws {
        let bucket = route("bucket") { $0.bucket = "*" }
        let object = route("object") { $0.object = "*" }
        let topic = route("topic") { $0.topic = "*" }
        #expect(try ids([object, bucket], .pushToApp(object: nil)) == ["bucket"])
        var noScope = PayloadFixture.pushToApp()
        noScope.fields[.scopeType] = nil
        #expect(try ids([object, bucket], noScope).isEmpty, "without a scope there is no bucket")
        #expect(try ids([object, bucket, topic], .pushToUser()) == ["topic"])
        #expect(try ids([object, bucket, topic], .directPush()).isEmpty)
    }

    @Test("an event is compared exactly, and a name that nobody knows is one too")
    func events() throws {
        let routes = [route("r") { $0.events = ["SOMETHING_NEW"] }]
        #expect(try ids(routes, .pushToApp(event: "SOMETHING_NEW")) == ["r"])
        #expect(try ids(routes, .pushToApp(event: "something_new")).isEmpty)
        var noEvent = PayloadFixture.pushToApp()
        noEvent.fields[.type] = nil
        #expect(try ids(routes, noEvent).isEmpty)
    }

    @Test("an event with two names is taken by either, in code and in a rule, and by a star")
    func twoNames() throws {
        let names = ["DATA_OBJECT_BODY_UPDATED", "DATA_OBJECT_BODY_UPDATE"]
        let code = RouteCriteria(kind: .pushToApp, events: [.objectBodyUpdated])
        let routes = [
            Route("code", flow: .continue, criteria: code), route("star", .continue) { $0.events = "*_UPDATE" },
            route("one", .continue) { $0.events = .exactly(names[0]) },
            route("other", .continue) { $0.events = ["X", .exactly(names[1])] },
            route("updated", .continue) { $0.events = "DATA_OBJECT_UPDATED" },
        ]
        #expect(try ids(routes, .pushToApp(event: KiiEvent(names[0]))) == ["code", "one", "other"])
        #expect(try ids(routes, .pushToApp(event: KiiEvent(names[1]))) == ["code", "star", "one", "other"])
        #expect(try ids(routes) == ["updated"])
    }

    @Test("compares names byte for byte")
    func unicodeForms() throws {
        let composed = route("composed") { $0.bucket = "caf\u{E9}" }
        let decomposed = route("decomposed") { $0.bucket = "cafe\u{301}" }
        for routes in [[composed, decomposed], [decomposed, composed]] {
            #expect(try ids(routes, .pushToApp(bucket: "caf\u{E9}")) == ["composed"])
            #expect(try ids(routes, .pushToApp(bucket: "cafe\u{301}")) == ["decomposed"])
        }
    }

    // MARK: Certainty

    /// A Push to App that has a topic too.
    private var ambiguous: PayloadFixture {
        var fixture = PayloadFixture.pushToApp()
        fixture.fields[.topic] = "news"
        return fixture
    }

    @Test("a route takes certain and likely messages, and ambiguous ones only where it says so")
    func certainty() throws {
        let likely = PayloadFixture.directPush(recipient: nil)
        let standard = route("standard")
        #expect(try ids([standard]) == ["standard"])
        #expect(try ids([standard], likely) == ["standard"])
        #expect(try ids([standard], ambiguous).isEmpty)
        #expect(try ids([standard, route("any") { $0.certainty = Certainty.allCases }], ambiguous) == ["any"])
        let certainOnly = route("certain") { $0.certainty = [.certain] }
        #expect(try ids([certainOnly]) == ["certain"])
        #expect(try ids([certainOnly], likely).isEmpty)
    }

    @Test("a message that only its ambiguity kept from a route is noted, one that no route asks for is not")
    func tooAmbiguous() throws {
        let bucket = route("bucket") { $0.bucket = "settings" }
        #expect(try match([bucket], ambiguous).isTooAmbiguous)
        #expect(try !match([route("other") { $0.bucket = "other" }], ambiguous).isTooAmbiguous)
        #expect(try !match([route("topic") { $0.topic = "news" }], ambiguous).isTooAmbiguous, "it has no topic")
        let certainOnly = route("certain") { $0.certainty = [.certain] }
        let likely = PayloadFixture.directPush(recipient: nil)
        #expect(try !match([certainOnly], likely).isTooAmbiguous, "a likely message is not an ambiguous one")
    }
}

/// The index against a plain scan of all routes, over random routes and messages.
struct RouteTablePropertyTests {
    @Test("the index finds exactly what a scan of all routes finds", arguments: 0..<40)
    func smallTables(seed: UInt64) throws {
        var source = RandomRouting(seed: seed)
        for _ in 0..<10 { try compare(routes: source.count(in: 0...40), messages: 25, &source) }
    }

    @Test("the index finds routes among thousands", arguments: 100..<103)
    func largeTables(seed: UInt64) throws {
        var source = RandomRouting(seed: seed)
        try compare(routes: 3000, messages: 60, &source)
    }

    private func compare(routes count: Int, messages: Int, _ source: inout RandomRouting) throws {
        let specs = (0..<count).map { _ in source.route() }
        let table = RouteTable(
            specs.enumerated().map { number, spec in
                Route("\(number)", flow: spec.flow, criteria: spec.criteria)
            })
        for _ in 0..<messages {
            let message = try PushMessage(source.payload())
            let found = table.match(message.storage)
            let expected = scan(specs, message)
            #expect(found.routes.ids == expected.ids.map(String.init))
            if expected.ids.isEmpty { #expect(found.isTooAmbiguous == expected.isTooAmbiguous) }
        }
    }

    private func scan(_ specs: [RouteSpec], _ message: PushMessage) -> (ids: [Int], isTooAmbiguous: Bool) {
        var ids: [Int] = []
        var isTooAmbiguous = false
        for (number, spec) in specs.enumerated() where spec.takes(message) {
            guard spec.certainty.contains(message.certainty) else {
                if message.certainty == .ambiguous { isTooAmbiguous = true }
                continue
            }
            ids.append(number)
            if spec.flow == .stop { break }
        }
        return (ids, isTooAmbiguous)
    }
}
