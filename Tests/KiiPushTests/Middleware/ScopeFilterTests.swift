import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct ScopeFilterTests {
    private func admit(_ payload: RawPayload, serving: ScopePattern? = nil, app: String? = nil) throws -> Verdict {
        var message = try RoutedMessage(payload, app: app)
        return ScopeFilter(serving: serving).admit(&message)
    }

    /// The app of the scope, and the sending app, of an event; each nil if it does not say so.
    private static func apps(scope: String?, sending: String?) -> RawPayload {
        var fixture = PayloadFixture.pushToApp()
        (fixture.fields[.scopeAppID], fixture.fields[.appID]) = (scope, sending)
        return fixture.payload(.long)
    }

    @Test(
        "refuses another app's payload, by the scope's app first, and passes what names none",
        arguments: [
            (apps(scope: "mine", sending: "mine"), true), (apps(scope: "mine", sending: "other"), true),
            (apps(scope: "MINE", sending: "mine"), false), (apps(scope: "other", sending: "mine"), false),
            (apps(scope: nil, sending: "mine"), true), (apps(scope: nil, sending: "other"), false),
            (apps(scope: nil, sending: nil), true), (PayloadFixture.directPush().payload(.long), true),
        ]
            + PayloadFixture.KeyStyle.allCases.flatMap { style in
                [PayloadFixture.pushToApp(), .pushToUser()].map { ($0.payload(style), false) }
            })
    func app(payload: RawPayload, isPassed: Bool) throws {
        #expect(try admit(payload, app: "mine") == (isPassed ? .pass : .drop(.refused(.app))))
        #expect(try admit(payload) == .pass, "without an app of the receiver's")
    }

    @Test("the app is judged before the scope")
    func order() throws {
        let payload = PayloadFixture.pushToApp(scope: .user(KiiUser(id: "U-2"))).payload(.long)
        #expect(try admit(payload, serving: .user("U-1"), app: "ffff0000") == .drop(.refused(.app)))
        #expect(try admit(payload, serving: .user("U-1"), app: "0123abcd") == .drop(.refused(.scope)))
    }

    @Test("serves exactly the listed scopes")
    func serving() throws {
        let scopes: [KiiScope] = [
            .app, .user(KiiUser(id: "U-1")), .user(KiiUser(id: "U-2")), .group(KiiGroup(id: "G-1")),
            .thing(KiiThing(id: "th.1")),
        ]
        let table: [(serving: ScopePattern, passes: [Bool])] = [
            (.app, [true, false, false, false, false]), (.user("U-1"), [false, true, false, false, false]),
            (.user("*"), [false, true, true, false, false]), (.user(), [false, true, true, false, false]),
            (.group("G-1"), [false, false, false, true, false]), (.group("U-1"), [false, false, false, false, false]),
            (.thing("th.*"), [false, false, false, false, true]),
            ([.app, .user("U-2"), .thing()], [true, false, true, false, true]),
            ([], [false, false, false, false, false]),
        ]
        for (serving, passes) in table {
            for (scope, isServed) in zip(scopes, passes) {
                let expected = isServed ? Verdict.pass : .drop(.refused(.scope))
                for style in PayloadFixture.KeyStyle.allCases {
                    for fixture in [PayloadFixture.pushToApp(scope: scope), .pushToUser(scope: scope)] {
                        let verdict = try admit(fixture.payload(style), serving: serving)
                        #expect(verdict == expected, "\(scope) with \(serving), \(style) keys")
                    }
                }
            }
        }
    }

    @Test(
        "refuses a scope that is unknown or lacks its id, whatever is served, and passes a payload that states none",
        arguments: [
            ("APP_AND_DOG", nil, false), ("app", nil, false), ("*", nil, false), ("APP_AND_USER", nil, false),
            ("APP_AND_GROUP", nil, false), ("APP_AND_THING", nil, false), (nil, nil, true), (nil, "U-2", true),
            (" ", nil, true),
        ] as [(String?, String?, Bool)])
    func stated(type: String?, user: String?, isPassed: Bool) throws {
        var fixture = PayloadFixture.pushToApp()
        (fixture.fields[.scopeType], fixture.fields[.scopeUserID]) = (type, user)
        let payload = fixture.payload(.long)
        let everything: ScopePattern = [.app, .user(nil), .group(nil), .thing(nil)]
        let verdict = try admit(payload, serving: isPassed ? .user("U-1") : everything)
        #expect(verdict == (isPassed ? .pass : .drop(.refused(.scope))))
        #expect(try admit(payload) == .pass, "where every scope is served, unknown ones are too")
    }

    @Test("a source URI provides the scope if no key does")
    func sourceURI() throws {
        var fixture = PayloadFixture.pushToApp()
        fixture.fields[.scopeType] = nil
        fixture.fields[.sourceURI] = "kiicloud://users/U-2/buckets/settings/objects/o-1"
        #expect(try admit(fixture.payload(.long), serving: .user("U-2")) == .pass)
        #expect(try admit(fixture.payload(.long), serving: .user("U-1")) == .drop(.refused(.scope)))
    }
}
