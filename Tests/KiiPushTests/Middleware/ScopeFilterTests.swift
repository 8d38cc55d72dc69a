import KiiPushTesting
import Testing

@testable import KiiPush
@testable import KiiPushTestSupport

struct ScopeFilterTests {
    private func admit(_ payload: RawPayload, serving: ScopePattern? = nil, app: String? = nil) throws -> Verdict {
        var message = try RoutedMessage(payload, app: app)
        return ScopeFilter(serving: serving).admit(&message)
    }

    /// A Push to App that states a scope in its own words, or none.
    private func stating(_ type: String?, _ ids: [KiiField: String] = [:]) -> RawPayload {
        var fixture = PayloadFixture.pushToApp()
        fixture.fields[.scopeType] = type
        for (field, id) in ids { fixture.fields[field] = id }
        return fixture.payload(.long)
    }

    // MARK: App

    @Test("a payload of another app is refused", arguments: PayloadFixture.KeyStyle.allCases)
    func otherApp(style: PayloadFixture.KeyStyle) throws {
        for fixture in [PayloadFixture.pushToApp(), .pushToUser()] {
            #expect(try admit(fixture.payload(style), app: "0123abcd") == .pass)
            #expect(try admit(fixture.payload(style), app: "ffff0000") == .drop(.refused(.app)))
            #expect(try admit(fixture.payload(style), app: "0123ABCD") == .drop(.refused(.app)), "ids compare exactly")
        }
    }

    @Test("the scope's app counts before the sending app")
    func whichApp() throws {
        var fixture = PayloadFixture.pushToApp(app: "0123abcd")
        fixture.fields[.appID] = "ffff0000"
        #expect(try admit(fixture.payload(.long), app: "0123abcd") == .pass)
        fixture.fields[.scopeAppID] = nil
        #expect(try admit(fixture.payload(.long), app: "0123abcd") == .drop(.refused(.app)))
        #expect(try admit(fixture.payload(.long), app: "ffff0000") == .pass)
    }

    @Test("passes a payload without an app, and any app without a receiver's")
    func noApp() throws {
        #expect(try admit(PayloadFixture.directPush().payload(.long), app: "0123abcd") == .pass)
        #expect(try admit(PayloadFixture.pushToApp().payload(.long)) == .pass)
    }

    @Test("the app is judged before the scope")
    func order() throws {
        let payload = PayloadFixture.pushToApp(scope: .user(KiiUser(id: "U-2"))).payload(.long)
        #expect(try admit(payload, serving: .user("U-1"), app: "ffff0000") == .drop(.refused(.app)))
        #expect(try admit(payload, serving: .user("U-1"), app: "0123abcd") == .drop(.refused(.scope)))
    }

    // MARK: Scope

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

    @Test("refuses an unknown scope, whatever is served", arguments: ["APP_AND_DOG", "app", "*"])
    func unknownScope(type: String) throws {
        let everything: ScopePattern = [.app, .user(), .group(), .thing()]
        #expect(try admit(stating(type), serving: everything) == .drop(.refused(.scope)))
        #expect(try admit(stating(type)) == .pass, "where every scope is served, unknown ones are too")
    }

    @Test(
        "refuses a scope without its id, even for a pattern with any id",
        arguments: ["APP_AND_USER", "APP_AND_GROUP", "APP_AND_THING"])
    func incompleteScope(type: String) throws {
        let everything: ScopePattern = [.app, .user(nil), .group(nil), .thing(nil)]
        #expect(try admit(stating(type), serving: everything) == .drop(.refused(.scope)))
    }

    @Test("a payload that states no scope passes, and a blank type states none")
    func noScope() throws {
        for payload in [
            stating(nil), stating(nil, [.scopeUserID: "U-2"]), stating(" "), PayloadFixture.directPush().payload(.long),
        ] { #expect(try admit(payload, serving: .user("U-1")) == .pass) }
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
